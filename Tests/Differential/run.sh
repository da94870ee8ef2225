#!/bin/bash
# Compares the language module with Python's graphql-core on mutated documents, schemas and introspection results.
#
# Usage: run.sh SCRATCH [generate.py's options]. SEEDS says with which seeds ("1 2 3"). Installs graphql-core into
# SCRATCH/venv; without a package index the comparison is skipped, with a message. Leaves SCRATCH/cases.jsonl and
# SCRATCH/differences.txt, and ends with another code than 0 when there are differences.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1; shift
mkdir -p "$scratch"
if ! cmp -s "$here/requirements.txt" "$scratch/installed.txt"; then
  if ! { python3 -m venv "$scratch/venv" \
    && "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 \
      --requirement "$here/requirements.txt"; } > "$scratch/install.log" 2>&1; then
    echo "differential: SKIPPED, nothing was compared: $(grep -v '^#' "$here/requirements.txt") cannot be installed" \
      "here. The last line of $scratch/install.log: $(tail -1 "$scratch/install.log")" >&2
    exit 0
  fi
  cp "$here/requirements.txt" "$scratch/installed.txt"
fi
: > "$scratch/cases.jsonl"
for seed in ${SEEDS:-1 2 3}; do
  PYTHONDONTWRITEBYTECODE=1 "$scratch/venv/bin/python" "$here/generate.py" --seed "$seed" "$@" >> "$scratch/cases.jsonl"
done
echo "differential: $(wc -l < "$scratch/cases.jsonl") cases of $("$scratch/venv/bin/pip" list 2>/dev/null | grep graphql-core | tr -s ' '), seeds ${SEEDS:-1 2 3}:"
grep -o '^{"kind": "[a-z]*"' "$scratch/cases.jsonl" | cut -d'"' -f4 | sort | uniq -c | awk '{ printf "  %s %s\n", $2, $1 }'
rm -f "$scratch/differences.txt"
cd "$here/../.."
export GQLRUN_MODULES=core GQLRUN_DIFFERENTIAL="$scratch/cases.jsonl"
if ! ${SWIFT:-swift} test ${SWIFT_FLAGS:-} --scratch-path .build-core --filter DifferentialTests > "$scratch/test.log" 2>&1; then
  tail -20 "$scratch/test.log" >&2
  [ ! -s "$scratch/differences.txt" ] || echo "differential: DIFFERENCES; they stand in $scratch/differences.txt" >&2
  exit 1
fi
if [ ! -e "$scratch/differences.txt" ]; then
  echo "differential: the test did not run; see $scratch/test.log" >&2
  exit 1
fi
echo "differential: no difference"
