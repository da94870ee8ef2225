#!/usr/bin/env bash
# Checks that a commit is a release, makes and tests its packages, and writes them with their checksums to a folder.
#
# usage: release.sh VERSION OUTPUT [--check]     --check: only the checks of the commit
#
# A release has one version in three places: the program, the newest heading of CHANGELOG.md, with its date, and the
# tag of the commit, "v" and the version.
set -euo pipefail

folder="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
version=$1
output=$2
problems=0

problem() {
  echo "release: $*" >&2
  problems=$((problems + 1))
}

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || problem "the version of the program, \"$version\", is not MAJOR.MINOR.PATCH"
heading="$(grep -m 1 '^## \[[0-9]' CHANGELOG.md || true)"
[[ $heading =~ ^"## [$version] - "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] ||
  problem "the newest version in CHANGELOG.md is \"${heading:-none}\"; write \"## [$version] - $(date +%F)\""
# The lines between the heading of the version and the next one.
changes="$(awk -v heading="$heading" '$0 == heading { inside = 1; next } /^## \[/ { inside = 0 } inside' CHANGELOG.md)"
grep -q '^- ' <<< "$changes" || problem "CHANGELOG.md lists no changes of $version"
unreleased="$(awk '/^## \[Unreleased\]/ { inside = 1; next } /^## \[/ { inside = 0 } inside' CHANGELOG.md)"
! grep -q '^- ' <<< "$unreleased" || problem "CHANGELOG.md lists unreleased changes; move them to $version"
[ -z "$(git status --porcelain)" ] || problem "there are uncommitted changes"
git tag --points-at HEAD | grep -qx "v$version" ||
  problem "the commit has no tag v$version; its tags: $(git tag --points-at HEAD | paste -sd ' ')"
[ "$problems" -eq 0 ] || { echo "release: not released; $problems to solve" >&2; exit 1; }
[ "${3:-}" != --check ] || { echo "release: $version can be released"; exit 0; }

make test-packages
release="$output/release"
rm -rf "$release"
mkdir -p "$release"
cp "$output"/gqlrun_"${version}"_*.deb "$output"/gqlrun-"$version"-linux-*.tar.xz "$release"
# One file for each image: skopeo copy oci-archive:FILE docker://REGISTRY/gqlrun:VERSION
tar --create --directory "$output/gqlrun-$version-oci" --sort=name --mtime="@$(git log -1 --format=%ct)" \
  --owner=0 --group=0 --numeric-owner --file "$release/gqlrun-$version-oci.tar" .
sum="$(sha256sum "$release"/gqlrun-"$version"-linux-x86_64.tar.xz | cut -d ' ' -f 1)"
sed -e "s/@VERSION@/$version/g" -e "s/@SHA256@/$sum/" "$folder/gqlrun.rb" > "$release/gqlrun.rb"
printf '%s\n' "$changes" > "$release/NOTES.md"
(cd "$release" && sha256sum gqlrun* > SHA256SUMS && sha256sum --quiet --check SHA256SUMS)
[ "$(tar -xJOf "$release"/gqlrun-"$version"-linux-*.tar.xz --wildcards '*/CHANGELOG.md' | sha256sum)" = \
  "$(sha256sum < CHANGELOG.md)" ] || { echo "release: the archive is of another commit" >&2; exit 1; }
echo "release: $version is in $release"
