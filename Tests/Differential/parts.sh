#!/bin/bash
# Compares responses in parts of Python's graphql-core, in both formats, with the response in one piece: the merged
# result, and the records of the cache.
#
# Usage: parts.sh SCRATCH. SEEDS says how many seeds (1000), CASES how many operations each has (20). Installs
# graphql-core 3.3.0a6, which sends the format of 2022, and 3.3.2, which sends ids, into SCRATCH; without a package
# index the comparison is skipped, with a message.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1
mkdir -p "$scratch"
pythons=()
for version in 3.3.0a6 3.3.2; do
  if [ ! -e "$scratch/core-$version/installed" ]; then
    if ! { python3 -m venv "$scratch/core-$version" \
      && "$scratch/core-$version/bin/pip" install --quiet --disable-pip-version-check --retries 1 \
        "graphql-core==$version"; } > "$scratch/install.log" 2>&1; then
      echo "differential-parts: SKIPPED, nothing was compared: graphql-core $version cannot be installed here. The" \
        "last line of $scratch/install.log: $(tail -1 "$scratch/install.log")" >&2
      exit 0
    fi
    touch "$scratch/core-$version/installed"
  fi
  pythons+=("$scratch/core-$version/bin/python")
done
cd "$here/../.."
export GQLRUN_MODULES=core GQLRUN_INCREMENTAL_PYTHONS="${pythons[0]}:${pythons[1]}"
export GQLRUN_SEEDS="${SEEDS:-1000}" GQLRUN_CASES="${CASES:-20}"
if ! ${SWIFT:-swift} test ${SWIFT_FLAGS:-} --scratch-path .build-core --filter ExecutorTests > "$scratch/parts.log" 2>&1; then
  grep -a -A 40 'recorded an issue' "$scratch/parts.log" | head -60 >&2 || tail -20 "$scratch/parts.log" >&2
  exit 1
fi
grep -a -q '^. Test run with [1-9]' "$scratch/parts.log" || {
  echo "differential-parts: the test did not run; see $scratch/parts.log" >&2
  exit 1
}
echo "differential-parts: no difference in $GQLRUN_SEEDS seeds of $GQLRUN_CASES operations, graphql-core 3.3.0a6 and 3.3.2"
