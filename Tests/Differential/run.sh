#!/bin/bash
# Compares the language room with Python's graphql-core on mutated documents and schemas.
#
# Usage: run.sh SCRATCH [generate.py's options]. Installs graphql-core into SCRATCH/venv; without a package
# index the comparison is skipped, with a message. Leaves SCRATCH/cases.jsonl and SCRATCH/differences.txt.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1; shift
mkdir -p "$scratch"
if ! cmp -s "$here/requirements.txt" "$scratch/installed.txt"; then
  if ! { python3 -m venv "$scratch/venv" \
    && "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check \
      --requirement "$here/requirements.txt"; } 2> "$scratch/install.log"; then
    echo "differential: skipped, graphql-core cannot be installed here ($(tail -1 "$scratch/install.log"))" >&2
    exit 0
  fi
  cp "$here/requirements.txt" "$scratch/installed.txt"
fi
PYTHONDONTWRITEBYTECODE=1 "$scratch/venv/bin/python" "$here/generate.py" "$@" > "$scratch/cases.jsonl"
echo "$(wc -l < "$scratch/cases.jsonl") cases"
cd "$here/../.."
export GQLRUN_ROOMS=core GQLRUN_DIFFERENTIAL="$scratch/cases.jsonl"
${SWIFT:-swift} test ${SWIFT_FLAGS:-} --scratch-path .build-core --filter DifferentialTests
