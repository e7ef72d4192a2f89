/**
 * `npm run check:replicas`: whether replicas lose, repeat or mix up anything while they, and the PostgreSQL they share, are
 * killed, suspended, stopped and restarted. On a new embedded PostgreSQL and S3 store in the temporary directory. Exit
 * code 1 if anything was found. Linux only.
 */
import { parseArgs } from "node:util"
import { faultKinds } from "./faults.ts"
import { defaults, findingsOf, runReplicas } from "./run.ts"

const help = `npm run check:replicas -- [options]
  --seconds N       of faults (default ${defaults.seconds})
  --seed N          of the random choices (default: from the clock)
  --replicas N      default ${defaults.replicas}
  --callers N       requests at once (default ${defaults.callers})
  --faults a,b      ${faultKinds.join(", ")} (default: all)
  --entry FILE      the service's program (default dist/main.mjs)`

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: String(defaults.seconds) },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    replicas: { type: "string", default: String(defaults.replicas) },
    callers: { type: "string", default: String(defaults.callers) },
    faults: { type: "string", default: faultKinds.join(",") },
    entry: { type: "string", default: defaults.entry },
    help: { type: "boolean", default: false }
  }
})

const kinds = faultKinds.filter((kind) => values.faults.split(",").includes(kind))
if (values.help || kinds.length === 0) {
  console.log(help)
  process.exitCode = values.help ? 0 : 1
} else {
  const report = await runReplicas({
    ...defaults,
    entry: values.entry,
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    replicas: Number(values.replicas),
    callers: Number(values.callers),
    kinds,
    progress: ({ faults, findings, requests }) =>
      console.log(`${requests} requests, ${JSON.stringify(faults)}, ${JSON.stringify(findings)}`)
  })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = findingsOf(report) === 0 ? 0 : 1
}
