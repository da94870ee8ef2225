#!/usr/bin/env bash
# The part of test.sh that runs in a bare Debian system, as its root.
#
# usage: test-inside.sh VERSION RELEASE     the packages are in the folder of this script
set -euo pipefail

version=$1
release=$2
packages="$(dirname "${BASH_SOURCE[0]}")"
export DEBIAN_FRONTEND=noninteractive

step() { echo "test-packages: $release: $*"; }

# expect TEXT COMMAND…: the command must succeed and print the text.
expect() {
  local text=$1 printed
  shift
  printed="$("$@" 2>&1)" || { printf '%s\nfailed: %s\n' "$printed" "$*" >&2; exit 1; }
  case $printed in
    *"$text"*) ;;
    *) printf '%s\nis the output of: %s\nwithout: %s\n' "$printed" "$*" "$text" >&2; exit 1 ;;
  esac
}

install() { apt-get -qq install -y "$@" >/var/log/install.log 2>&1 || { tail /var/log/install.log >&2; exit 1; }; }

apt-get -qq update
install man-db bash-completion
# Everything below /usr and /etc; the package manager's own state is in /var.
find /usr /etc -xdev | sort > /tmp/before

step "install an older version, and upgrade it"
install "$packages"/gqlrun_0.0.1*.deb
expect "gqlrun " gqlrun --version
install "$packages"/gqlrun_"${version}"_*.deb
expect "$version" dpkg-query -W -f '${Version}' gqlrun
expect "gqlrun $version" gqlrun --version
# As files, none of these is of the package.
for name in libyajl.so.2 libsqlite3.so.0 libcrypto.so.3 libz.so.1 libjq.so.1 libpq.so.5; do
  expect "$name" ldconfig -p
done

step "run"
useradd --create-home tester
home="$(getent passwd tester | cut -d: -f6)"
cat > "$home/run.sh" <<'SCRIPT'
set -euo pipefail
cd "$HOME"
gqlrun demo --posts 50 > demo.txt 2>&1
gqlrun serve --port 0 > url.txt 2>/dev/null &
server=$!
trap 'kill $server' EXIT
for attempt in {1..100}; do [ ! -s url.txt ] || break; sleep 0.1; done
export GQL_URL="$(head -n 1 url.txt)"
query='query Country($code: ID!) { country(code: $code) { __typename code name } }'
echo "$query" > country.graphql
gqlrun run country.graphql --var code=PT --output response.json
cat response.json
gqlrun run '{ countries { name } }' --jq '.data.countries | length' --raw-output
gqlrun run country.graphql --pipeline /usr/share/gqlrun/pipelines/default.pipeline.yaml --var code=FR
gqlrun cache import country.graphql response.json --var code=PT --keys Country=code --store sqlite:cache.db
gqlrun cache dump --store sqlite:cache.db
printf 'code\nDE\nES\n' > codes.csv
cat > countries.batch.yaml <<'MANIFEST'
# yaml-language-server: $schema=/usr/share/gqlrun/schemas/batch.schema.json
version: 1
sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
operations:
  - { id: countries, document: country.graphql, foreach: { csv: codes.csv, key: "{{row.code}}" }, variables: { code: "{{row.code}}" }, emit: country }
MANIFEST
gqlrun batch run countries.batch.yaml
cat out/countries.ndjson
# The library of PostgreSQL is found; no server runs.
gqlrun cache dump --store postgres://127.0.0.1:1/none || true
SCRIPT
result="$(su - tester -c 'bash run.sh' 2>&1)" || { printf '%s\n' "$result" >&2; exit 1; }
for text in '"name":"Portugal"' '"name":"France"' '{"key":"Country:PT"' '2 done, 2 records' '"name":"Germany"' \
  '"name":"Spain"' 'Connection refused'; do
  expect "$text" printf '%s\n' "$result"
done
expect "A live subscription" cat "$home/demo.txt"

step "manual pages, completion, files"
export MANPAGER=cat COLUMNS=100
expect "gqlrun run" man gqlrun
for page in $(dpkg -L gqlrun | grep '/man1/.*\.gz$'); do
  page="${page##*/}"
  expect "gqlrun" man "${page%.1.gz}"
done
expect "batch" bash -c '
  . /usr/share/bash-completion/bash_completion
  _completion_loader gqlrun 2>/dev/null || _comp_load gqlrun
  COMP_LINE="gqlrun bat" COMP_POINT=10
  _gqlrun gqlrun bat gqlrun
  echo "${COMPREPLY[@]}"'
[ -e /usr/share/zsh/vendor-completions/_gqlrun ] && [ -e /usr/share/fish/vendor_completions.d/gqlrun.fish ]
for pipeline in /usr/share/gqlrun/pipelines/*.pipeline.yaml; do
  grep -q '^version: 1' "$pipeline"
done
expect '"$schema"' cat /usr/share/gqlrun/schemas/pipeline.schema.json /usr/share/gqlrun/schemas/batch.schema.json

step "remove"
apt-get -qq purge -y gqlrun >/dev/null 2>&1
apt-get -qq autoremove --purge -y >/dev/null 2>&1
hash -r
! command -v gqlrun >/dev/null
find /usr /etc -xdev | sort > /tmp/after
left="$(comm -13 /tmp/before /tmp/after | grep -i gqlrun || true)"
[ -z "$left" ] || { printf 'not removed:\n%s\n' "$left" >&2; exit 1; }
[ -s "$home/cache.db" ]
