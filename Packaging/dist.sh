#!/usr/bin/env bash
# Makes a tar.xz for any distribution, and a file with its SHA-256, from what `make install PREFIX=/usr` installed.
#
# usage: dist.sh STAGE VERSION OUTPUT     prints the name of the archive
#
# The archive has the same bytes each time: sorted names, files that are as old as the commit (SOURCE_DATE_EPOCH) and
# belong to root, and one thread of xz.
set -euo pipefail

folder="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
stage="$(realpath "$1")"
version=$2
output="$(realpath "$3")"
epoch="${SOURCE_DATE_EPOCH:-$(git -C "$folder" log -1 --format=%ct)}"

name="gqlrun-$version-linux-$(uname -m)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp -a "$stage/usr" "$scratch/$name"
install -D -m 644 "$folder/copyright" "$scratch/$name/share/doc/gqlrun/copyright"
install -m 644 "$folder"/../{LICENSE,README.md,CHANGELOG.md} "$scratch/$name"
chmod -R u=rwX,go=rX "$scratch/$name"

tar --create --directory "$scratch" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
  --format=posix --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime "$name" |
  xz --threads=1 -9 --extreme > "$output/$name.tar.xz"
(cd "$output" && sha256sum "$name.tar.xz" > "$name.tar.xz.sha256")
echo "$output/$name.tar.xz"
