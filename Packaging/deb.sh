#!/usr/bin/env bash
# Makes a Debian package from what `make install PREFIX=/usr` installed into a folder.
#
# usage: deb.sh STAGE VERSION OUTPUT     prints the name of the package
#
# DEBIAN_MAINTAINER replaces the maintainer, and DEBIAN_COMPRESSION the options of dpkg-deb for compression. The package
# has the same bytes each time: its files are as old as the commit (SOURCE_DATE_EPOCH), and belong to root.
set -euo pipefail

folder="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
stage="$(realpath "$1")"
version=$2
output="$(realpath "$3")"
maintainer="${DEBIAN_MAINTAINER:-gqlrun contributors <gqlrun@users.noreply.github.com>}"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$folder" log -1 --format=%ct)}"

architecture="$(dpkg --print-architecture)"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root/DEBIAN"
cp -a "$stage/usr" "$root/usr"

# Debian has folders of its own for what packages bring.
install -d "$root/usr/share/zsh"
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"

documents="$root/usr/share/doc/gqlrun"
install -D -m 644 "$folder/copyright" "$documents/copyright"
install -m 644 "$folder/../CHANGELOG.md" "$documents/CHANGELOG.md"
install -D -m 644 "$folder/deb/lintian-overrides" "$root/usr/share/lintian/overrides/gqlrun"
{
  echo "gqlrun ($version) unstable; urgency=medium"
  echo
  echo "  * The changes of each version are in CHANGELOG.md.gz."
  echo
  echo " -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
} > "$documents/changelog"
gzip -9 -n "$documents/changelog" "$documents/CHANGELOG.md" "$root"/usr/share/man/man1/*.1

# What the program is linked with, with the oldest versions that have its symbols.
mkdir -p "$root/work/debian"
touch "$root/work/debian/control"
libraries="$(cd "$root/work" && dpkg-shlibdeps -O -e"$root/usr/bin/gqlrun" | sed -n 's/^shlibs:Depends=//p')"
rm -r "$root/work"

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@MAINTAINER@/$maintainer/" \
  -e "s/@LIBRARIES@/$libraries/" -e "s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f1)/" \
  "$folder/deb/control" > "$root/DEBIAN/control"

package="$output/gqlrun_${version}_$architecture.deb"
dpkg-deb --root-owner-group -Zxz ${DEBIAN_COMPRESSION:--z9 -Sextreme} --build "$root" "$package" >/dev/null
echo "$package"
