import { assert, it } from "vitest"
import { defaults, findingsOf, runReplicas } from "../../../bench/replicas/run.ts"

const seed = Date.now() % 1_000_000

it.runIf(process.platform === "linux")(
  "replicas lose, repeat and mix up nothing while they and PostgreSQL are killed, suspended and stopped",
  { timeout: 120_000 },
  async () => {
    const kinds = ["PostgreSQL suspended", "replica killed", "PostgreSQL killed"] as const
    // Every kind once: the next fault comes when the one before is over.
    const report = await runReplicas({ ...defaults, seed, replicas: 2, callers: 12, kinds, faults: kinds.length })
    process.stdout.write(`Replicas: ${JSON.stringify(report)}\n`)
    assert.isAbove(report.acknowledged, 20)
    assert.strictEqual(findingsOf(report), 0, report.examples.join("\n"))
  }
)
