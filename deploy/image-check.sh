#!/usr/bin/env bash
# Builds the image, starts a container, and checks that it responds, does not run as root, keeps its data across a
# restart, and exits cleanly on SIGTERM. Uses docker or podman, whichever is available.
#
#   npm run image:check                                     # set ENGINE=podman to choose the engine
#   npm run image:check -- --build-arg NAME=value ...       # further arguments are passed to the build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "image:check: $*" >&2
  exit 1
}

usable() { "$1" info >/dev/null 2>&1; }
engine=${ENGINE:-$(usable docker && echo docker || { usable podman && echo podman; } || true)}
[ -n "$engine" ] || fail "neither docker nor podman is available"
image=svc:check
name=svc-check-$$
grace=30

step() { echo "== $*"; }
state() { "$engine" inspect --type container --format "$1" "$name"; }

step "$engine builds $image"
# Podman's default image format drops HEALTHCHECK; docker always uses the one that keeps it.
[ "$engine" = podman ] && set -- --format docker "$@"
"$engine" build --tag "$image" "$@" .

trap '"$engine" rm --force --volumes "$name" >/dev/null 2>&1 || true' EXIT

responds() {
  local port
  port=$("$engine" port "$name" 3000/tcp | head -1)
  port=${port##*:}
  for _ in $(seq 120); do
    [ "$(state '{{.State.Running}}')" = true ] || return 1
    node -e 'fetch(process.argv[1]).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))' \
      "http://127.0.0.1:$port/$1" && return 0
    sleep 0.5
  done
  return 1
}

up() {
  responds healthz && responds readyz && return
  "$engine" logs "$name" >&2 || true
  fail "the service did not become ready"
}

down() {
  "$engine" stop -t "$grace" "$name" >/dev/null
  local code
  code=$(state '{{.State.ExitCode}}')
  [ "$code" = 0 ] || fail "exit code $code after SIGTERM (137: killed after $grace s)"
}

inside() { "$engine" exec "$name" "$@"; }
keys() { inside cat /data/keys.json; }

step "starts"
"$engine" run --detach --name "$name" --publish 127.0.0.1::3000 "$image" >/dev/null
up

step "passes its health check"
test=$("$engine" image inspect --format '{{json .Config.Healthcheck.Test}}' "$image")
node -e '
  const [kind, ...command] = JSON.parse(process.argv[1])
  if (kind !== "CMD") process.exit(1)
  const [engine, name] = process.argv.slice(2)
  process.exit(require("node:child_process").spawnSync(engine, ["exec", name, ...command], { stdio: "inherit" }).status ?? 1)
' "$test" "$engine" "$name" || fail "the image's health check failed: $test"

step "does not run as root"
user=$(inside id -u)
[ "$user" != 0 ] || fail "runs as root"
[ -z "$(inside find /data ! -uid "$user" -print -quit)" ] || fail "/data has files of another user"
[ -z "$(inside find /opt/svc ! -type l -writable -print -quit)" ] || fail "the program files are writable"

step "has PostgreSQL's client programs"
inside pg_dump --version
inside pg_restore --version

step "says its version"
inside svc version

step "exits on SIGTERM, restarts with the same data"
before=$(keys)
down
"$engine" start "$name" >/dev/null
up
[ "$(keys)" = "$before" ] || fail "the keys changed after a restart"
down

echo "image:check: passed, with $engine as user $user"
