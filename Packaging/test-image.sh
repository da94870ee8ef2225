#!/usr/bin/env bash
# Runs the program in the unpacked image, as its user: the demo server, an operation, a name that is looked up.
#
# usage: unshare --mount --pid --fork --kill-child test-image.sh ROOT
set -euo pipefail

root=$1
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"
in_image() { exec env -i PATH=/usr/bin HOME=/data /usr/sbin/chroot --userspec=65532:65532 "$root" gqlrun "$@"; }

# expect TEXT ARGUMENT…: what the program prints must contain the text.
expect() {
  local text=$1 printed
  shift
  printed="$( (in_image "$@") 2>&1 || true)"
  [[ $printed == *"$text"* ]] || { printf '%s\nis the output of gqlrun %s in the image\n' "$printed" "$*" >&2; exit 1; }
}

(in_image serve --port 0) > "$root/tmp/url" 2>/dev/null &
for _ in {1..200}; do [ ! -s "$root/tmp/url" ] || break; sleep 0.1; done
url="$(head -n 1 "$root/tmp/url")"
expect 250 run '{ countries { name } }' --endpoint "$url" --jq '.data.countries | length'
expect "has no address" run '{ a }' --endpoint https://example.invalid/
expect "Connection refused" cache dump --store postgres://127.0.0.1:1/none
