#!/usr/bin/env bash
# Tests the checks of release.sh in repositories of its own.
set -euo pipefail

release="$(realpath "$(dirname "${BASH_SOURCE[0]}")")/release.sh"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
git init -q
git config user.name test
git config user.email test@example.org
git config commit.gpgsign false

# check RESULT TEXT: the exit code of the checks of version 1.2.0, and what they print.
check() {
  local printed status=0
  printed="$("$release" 1.2.0 none --check 2>&1)" || status=$?
  if [ "$status" != "$1" ] || [[ $printed != *"$2"* ]]; then
    printf 'test-release: expected %s and "%s", found %s and:\n%s\n' "$1" "$2" "$status" "$printed" >&2
    exit 1
  fi
}

commit() {
  printf '%s\n' "$@" > CHANGELOG.md
  git add CHANGELOG.md
  git commit -q -m test --allow-empty
}

commit "## [Unreleased]" "- a change"
check 1 'the newest version in CHANGELOG.md is "none"'
commit "## [1.1.0] - 2026-01-31" "- a change"
check 1 'the newest version in CHANGELOG.md is "## [1.1.0] - 2026-01-31"'
commit "## [1.2.0] - 2026-01-31" "## [1.1.0] - 2026-01-01" "- a change"
check 1 "lists no changes of 1.2.0"
commit "## [Unreleased]" "- a change" "## [1.2.0] - 2026-01-31" "- a change"
check 1 "lists unreleased changes"
commit "## [Unreleased]" "" "## [1.2.0] - 2026-01-31" "- a change"
check 1 "the commit has no tag v1.2.0"
git tag v1.1.9
check 1 "its tags: v1.1.9"
git tag v1.2.0
touch file
check 1 "there are uncommitted changes"
rm file
check 0 "1.2.0 can be released"
