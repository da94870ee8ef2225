#!/usr/bin/env bash
# Builds and runs packages that use this one from outside its tree:
#
# - a program that has only the product GQLRun,
# - the first page of docs/guide-library.md, its Package.swift included,
# - a program beside a package whose targets are called GraphQL, Cache and Pipeline.
#
# Each prints its country from a running server, then from the SQLite file of its pipeline with the
# server stopped. All share one scratch folder, so that the dependencies are built once.
#
# usage: run.sh PROGRAM SCRATCH
set -euo pipefail

root="$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")"
program="$(realpath "$1")"
scratch="$(realpath -m "$2")"
swift="${SWIFT:-swift}"

mkdir -p "$scratch"
exec 9>"$scratch/outside.lock"
flock 9

# The same folder each time, so that nothing is compiled again without need.
outside="${TMPDIR:-/tmp}/gqlrun-outside-$UID"
rm -rf "$outside"
mkdir -p "$outside/countries/Sources/countries"
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$outside"
}
trap finish EXIT

fail() {
  echo "test-outside: $*" >&2
  exit 1
}

ln -s "$root" "$outside/gqlrun"
cp -r "$root/Tests/Outside/neighbour" "$root/Tests/Outside/users" "$outside"
mv "$outside/users/Sources/issue/Main.swift.txt" "$outside/users/Sources/issue/Main.swift"

# block LANGUAGE NUMBER: a code block of the guide.
block() {
  awk -v start="\`\`\`$1" -v wanted="$2" '
    $0 == start { count++; if (count == wanted) { copying = 1; next } }
    $0 == "```" { copying = 0 }
    copying
  ' "$root/docs/guide-library.md"
}
block swift 1 >"$outside/countries/Package.swift"
block swift 2 >"$outside/countries/Sources/countries/main.swift"
block yaml 1 >"$outside/countries/countries.pipeline.yaml"
sed 's/countries\.db/issue.db/' "$outside/countries/countries.pipeline.yaml" >"$outside/issue.pipeline.yaml"
sed 's/countries\.db/beside.db/' "$outside/countries/countries.pipeline.yaml" >"$outside/beside.pipeline.yaml"

build() {
  (cd "$outside/$1" && "$swift" build --scratch-path "$scratch") ||
    fail "the package $1 does not build; the reasons are above"
}

expect() {
  local wanted="$1" printed
  shift
  printed="$("$@")" || fail "$* failed with status $?"
  [ "$printed" = "$wanted" ] || fail "$1 printed \"$printed\", expected \"$wanted\""
  echo "test-outside: $(basename "$1") printed \"$printed\""
}

# Programs of one package at a time are in the scratch folder: those of the first are kept aside.
build users
cp "$scratch/debug/issue" "$scratch/debug/beside" "$outside"
build countries
cp "$scratch/debug/countries" "$outside/countries.program"

coproc SERVE { exec "$program" serve --port 0; }
server="$SERVE_PID"
read -r GQL_URL <&"${SERVE[0]}" || fail "the server did not start"
export GQL_URL
cd "$outside/countries"
expect "France" "$outside/issue" "$outside/issue.pipeline.yaml"
expect "France Cache Pipeline" "$outside/beside" "$outside/beside.pipeline.yaml"
expect "France from the server" "$outside/countries.program"

kill "$server"
wait "$server" 2>/dev/null || true
server=
expect "France" "$outside/issue" "$outside/issue.pipeline.yaml"
expect "France Cache Pipeline" "$outside/beside" "$outside/beside.pipeline.yaml"
expect "France from the cache" "$outside/countries.program"
