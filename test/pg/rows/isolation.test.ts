import { afterAll, assert, beforeAll, it } from "vitest"
import { defaults, type Options, type Report, runIsolation, setUp } from "../../../bench/isolation/run.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
const seed = Date.now() % 1_000_000

beforeAll(async () => {
  service = await serveInProcess({ SVC_DB_SCHEMAS: "public,other", SVC_DB_TIMEOUT: "5s" })
  await setUp(service, defaults.users)
})
afterAll(() => service[Symbol.asyncDispose]())

const summaryOf = (report: Report) => {
  const { examples, ...counts } = report
  return `${JSON.stringify({ ...counts, requests: undefined })}\n${examples.join("\n")}`
}

const assertIsolated = async (options: Partial<Options>) => {
  // A change costs as much as some hundred answers: every clean connection is opened anew.
  const report = await runIsolation(service, { ...defaults, seed, hangUps: 0.02, ...options })
  assert.isAtLeast(report.answers, options.answers ?? 0, "it was aborted")
  process.stdout.write(`Isolation: ${summaryOf(report)}\n`)
  for (const happened of ["poisons", "hungUp", "ddl", "kills", "audited"] as const) {
    assert.isAbove(report[happened], 0, happened)
  }
  // A session that ends may have 64 requests in flight.
  assert.isAtMost(report.excused, 64 * report.kills)
  assert.deepStrictEqual(
    report.findings,
    { foreign: 0, missing: 0, leftover: 0, error: 0, lost: 0, duplicate: 0 },
    summaryOf(report)
  )
}

// `npm run check:isolation` checks more answers.
it("no caller gets, changes or loses rows because of another", { timeout: 400_000 }, ({ signal }) =>
  assertIsolated({ answers: 6_000, ddlEvery: 1_500, signal })
)

it("every write is made once, by its caller, while the tables change", { timeout: 240_000 }, ({ signal }) =>
  assertIsolated({ mix: "writes", answers: 2_500, ddlEvery: 400, signal })
)
