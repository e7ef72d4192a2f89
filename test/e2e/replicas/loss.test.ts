import { assert, it } from "vitest"
import { findingsOf } from "../../../bench/replicas/report.ts"
import { defaults, runReplicas } from "../../../bench/replicas/run.ts"

const seed = Date.now() % 1_000_000

it.runIf(process.platform === "linux")(
  "replicas lose, repeat and mix up nothing while they, PostgreSQL and the object store fail",
  { timeout: 180_000 },
  async () => {
    // Every kind once: the next fault comes when the one before is over.
    const kinds = ["replica killed", "PostgreSQL suspended", "PostgreSQL killed", "store killed"]
    const small = { replicas: 2, callers: 8, silence: 3_000, kinds, faults: kinds.length }
    const report = await runReplicas({ ...defaults, seed, ...small })
    process.stdout.write(`Replicas: ${JSON.stringify(report)}\n`)
    assert.isAbove(report.acknowledged, 20)
    assert.isAbove(report.events, 20)
    assert.deepStrictEqual([report.skipped, Object.keys(report.faults)], [[], kinds])
    assert.strictEqual(findingsOf(report), 0, report.examples.join("\n"))
  }
)
