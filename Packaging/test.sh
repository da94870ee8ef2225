#!/usr/bin/env bash
# Tests the packages: that they are the same bytes each time, what they need, and in bare Debian systems how they are
# installed, run, upgraded and removed. Needs root, for the systems in folders.
#
# usage: test.sh STAGE VERSION OUTPUT [RELEASE…]     by default Debian bookworm and trixie
#
# STAGE and OUTPUT are those of deb.sh, dist.sh and oci.py, which have run. MIRROR is that of Debian's packages.
set -euo pipefail

folder="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
stage="$(realpath "$1")"
version=$2
output="$(realpath "$3")"
shift 3
releases=("$@")
[ $# -gt 0 ] || releases=(bookworm trixie)
mirror="${MIRROR:-http://deb.debian.org/debian}"
# The newest version of glibc that the program may need: that of Ubuntu 22.04. Debian 12 has 2.36.
newest_glibc=2.35

fail() {
  echo "test-packages: $*" >&2
  exit 1
}

step() { echo "test-packages: $*"; }

[ "$(id -u)" = 0 ] || fail "needs root, for the bare systems in folders; run it with sudo, or in a container"
scratch="$(mktemp -d "${TMPDIR:-/tmp}/gqlrun-packages.XXXXXX")"
trap 'rm -rf --one-file-system "$scratch"' EXIT
chmod 755 "$scratch"

package="$output/gqlrun_${version}_$(dpkg --print-architecture).deb"
archive="gqlrun-$version-linux-$(uname -m).tar.xz"
image="$output/gqlrun-$version-oci"

step "the checks of a release"
"$folder/test-release.sh"

step "the same bytes from a second build of the packages"
"$folder/deb.sh" "$stage" "$version" "$scratch" >/dev/null
"$folder/dist.sh" "$stage" "$version" "$scratch" >/dev/null
"$folder/oci.py" "$package" "$version" "$scratch" "$output/cache" >/dev/null
cmp "$package" "$scratch/${package##*/}"
cmp "$output/$archive" "$scratch/$archive"
diff -r "$image" "$scratch/${image##*/}"
(cd "$output" && sha256sum --quiet --check "$archive.sha256")

step "lintian"
lintian --allow-root --fail-on error,warning "$package"

glibc="$(objdump -T "$stage/usr/bin/gqlrun" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 | cut -d_ -f2)"
step "the program needs glibc $glibc or newer"
[ "$(printf '%s\n' "$glibc" "$newest_glibc" | sort -V | tail -n 1)" = "$newest_glibc" ] ||
  fail "the program must run with glibc $newest_glibc"

step "the image, by skopeo and umoci"
skopeo inspect "oci:$image:$version" >/dev/null
umoci unpack --image "$image:$version" "$scratch/image"
unshare --mount --pid --fork --kill-child "$folder/test-image.sh" "$scratch/image/rootfs" ||
  fail "the image: failed; see above"

step "the archive, unpacked into a folder"
tar -xJf "$output/$archive" -C "$scratch"
"$scratch/${archive%.tar.xz}/bin/gqlrun" --version

# An older version, to upgrade from.
DEBIAN_COMPRESSION=-z1 "$folder/deb.sh" "$stage" "0.0.1~test" "$scratch" >/dev/null
for release in "${releases[@]}"; do
  step "$release: a bare system"
  root="$scratch/$release"
  mkdir -p "$output/cache/$release"
  debootstrap --variant=minbase --cache-dir="$output/cache/$release" "$release" "$root" "$mirror" \
    > "$scratch/$release.log" 2>&1 || { tail "$scratch/$release.log" >&2; fail "debootstrap failed"; }
  mkdir "$root/packages"
  cp "$scratch"/gqlrun_0.0.1*.deb "$package" "$folder/test-inside.sh" "$root/packages"
  # /proc ends with the processes of the system.
  unshare --mount --pid --fork --kill-child bash -euc '
    mount -t proc proc "$1/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$1" /packages/test-inside.sh "$2" "$3"
  ' inside "$root" "$version" "$release" || fail "$release: failed; see the step above"
  rm -rf --one-file-system "$root"
done
step "passed"
