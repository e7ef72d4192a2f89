/**
 * `npm run check:replicas`: whether replicas lose, repeat or mix up anything while they, and the PostgreSQL they share, are
 * killed, suspended, stopped and restarted. `npm run check:chaos`: the same with every server and fault that this machine
 * can have (bench/README.md). All servers are new ones in the temporary directory, on loopback. Exit code 1 if anything
 * was found. Linux only; disks and HAProxy need root and Debian's `haproxy`, clocks Debian's `faketime`.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { findingsOf } from "./report.ts"
import { defaults, everything, runReplicas } from "./run.ts"

const help = `npm run check:replicas -- [options], or npm run check:chaos -- [options]
  --all             every server and fault that this machine can have
  --seconds N       of faults (default ${defaults.seconds}), or --minutes N
  --seed N          of the random choices (default: from the clock)
  --replicas N      default ${defaults.replicas}
  --callers N       requests at once (default ${defaults.callers})
  --faults a;b      by name
  --store COMMAND   starts an S3 store on 127.0.0.1:{port} with its objects in {dir}, and the owner's credentials in
                    ROOT_ACCESS_KEY and ROOT_SECRET_KEY (default: the embedded one; or S3_TEST_ENDPOINT)
  --entry FILE      the service's program (default dist/main.mjs)`

const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    seconds: { type: "string", default: String(defaults.seconds) },
    minutes: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    replicas: { type: "string", default: String(defaults.replicas) },
    callers: { type: "string", default: String(defaults.callers) },
    faults: { type: "string" },
    store: { type: "string" },
    entry: { type: "string", default: defaults.entry },
    help: { type: "boolean", default: false }
  }
})

if (values.help) console.log(help)
else {
  if (values.entry === defaults.entry)
    execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: join(import.meta.dirname, "../..") })
  const kinds = values.faults?.split(";")
  const report = await runReplicas({
    ...(values.all ? everything : defaults),
    ...(kinds !== undefined && { kinds }),
    entry: values.entry,
    store: values.store,
    seconds: values.minutes === undefined ? Number(values.seconds) : 60 * Number(values.minutes),
    seed: Number(values.seed),
    replicas: Number(values.replicas),
    callers: Number(values.callers),
    progress: ({ examples, findings, requests }, fault) => {
      const found = Object.entries(findings).filter(([, count]) => count > 0)
      console.log(
        `${new Date().toISOString()} ${fault}: ${requests} requests, ${JSON.stringify(found)} ${examples.at(-1) ?? ""}`
      )
    }
  })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = findingsOf(report) === 0 ? 0 : 1
}
