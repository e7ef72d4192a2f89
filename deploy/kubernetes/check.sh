#!/usr/bin/env bash
# Validates the manifests against Kubernetes' own schemas, which the package of the validator brings; where helm is installed,
# also what the chart makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --target "$programs" kubernetes-validate==1.37.0
PYTHONPATH="$programs" python3 -m kubernetes_validate --strict ./*.yaml

if command -v helm >/dev/null; then
  helm lint --strict --quiet ../helm/svc
  helm template svc ../helm/svc --kube-version 1.37.0 >"$programs/chart.yaml"
  helm template svc ../helm/svc --kube-version 1.37.0 --set autoscaling.enabled=false --set ingress.enabled=true \
    --set image.digest=sha256:0 --set podAnnotations.a=b --set nodeSelector.a=b >"$programs/chosen.yaml"
  PYTHONPATH="$programs" python3 -m kubernetes_validate --strict "$programs"/*.yaml
fi
