#!/usr/bin/env bash
# Checks the jobs of Examples/cluster against the schemas of Kubernetes.
#
# usage: kubernetes.sh SCRATCH
set -euo pipefail

root="$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")"
scratch="$(realpath -m "$1")"
[ -x "$scratch/venv/bin/kubernetes-validate" ] || {
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check 'kubernetes-validate>=1.30'
}
"$scratch/venv/bin/kubernetes-validate" --strict "$root/Examples/cluster/job.yaml"
