#!/usr/bin/env bash
# Validates the manifests against Kubernetes' own schemas, which the package of the validator brings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --target "$programs" kubernetes-validate==1.37.0
PYTHONPATH="$programs" python3 -m kubernetes_validate --strict ./*.yaml
