#!/usr/bin/env bash
# Checks that Foundation prints the same with the part of ICU's data that the program has as with all of the data.
#
# usage: test-icu.sh SWIFT     SWIFT is the compiler's program
set -euo pipefail

folder="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
swift=$1
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

flags="$("$folder/icu-data.py" "$swift" "$scratch")" || { echo "test-icu: skipped; the reason is above"; exit 0; }
linked=(-Xlinker --gc-sections -Xlinker --no-export-dynamic)
# The linker warns about Foundation itself.
compile() {
  "${swift}c" -O -static-stdlib "${linked[@]}" "$@" "$folder/test-icu.swift" 2> "$scratch/log" ||
    { cat "$scratch/log" >&2; exit 1; }
}
compile -o "$scratch/all"
# shellcheck disable=SC2086
compile -o "$scratch/part" $flags
difference=$(($(stat -c %s "$scratch/all") - $(stat -c %s "$scratch/part")))
[ "$difference" -gt 20000000 ] || { echo "test-icu: the program is only $difference bytes smaller" >&2; exit 1; }

count=0
for locale in C en_US.UTF-8 de_DE.UTF-8 ja_JP.UTF-8; do
  LC_ALL=$locale LANG=$locale TZ=Europe/Lisbon "$scratch/all" > "$scratch/all.txt"
  LC_ALL=$locale LANG=$locale TZ=Europe/Lisbon "$scratch/part" > "$scratch/part.txt"
  diff "$scratch/all.txt" "$scratch/part.txt" || { echo "test-icu: $locale: the outputs differ" >&2; exit 1; }
  count=$((count + $(wc -l < "$scratch/all.txt")))
done
echo "test-icu: $count lines are the same, and the program is $((difference / 1000000)) MB smaller"
