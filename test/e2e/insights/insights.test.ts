import { assert, inject, it } from "vitest"
import { type InsightReport } from "../../../src/domain/insights/Insight.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { copyDataDir, removeDataDir } from "../../support/dataDir.ts"
import { type Address, startService } from "../../support/service.ts"

const shared = inject("service")

const report = async (service: Address) => {
  const reply = await ask(service, "GET /api/insights", { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as InsightReport
}

it("is for administrators", async () => {
  assertRefused(await ask(shared, "GET /api/insights"), 401)
  assertRefused(await ask(shared, "GET /api/insights", { key: shared.anon }), 403)
  const { checks, database } = await report(shared)
  assert.isAbove(checks.length, 10)
  assert.strictEqual(database.name, "postgres")
})

it("the fix for statements makes them readable, slow ones are found, and without the constants of callers", async () => {
  const dataDir = await copyDataDir(inject("preparedDataDir"))
  try {
    const statementsOf = ({ checks }: InsightReport) => checks.find(({ kind }) => kind === "slow_statement")
    let fix: ReadonlyArray<string> = []
    {
      await using service = await startService({ dataDir })
      const check = statementsOf(await report(service))
      assert.strictEqual(check?.status, "unavailable")
      fix = check?.fix?.split("\n") ?? []
      await sql(service, fix[0] ?? "")
      await service.stop()
    }
    await using service = await startService({ dataDir })
    assert.strictEqual(statementsOf(await report(service))?.fix, fix[1])
    await sql(service, fix[1] ?? "")
    await sql(service, "select pg_sleep(0.15), 'a secret' as note")
    await sql(service, "do $$ begin perform pg_sleep(0.15); raise notice 'another secret'; end $$")
    const { checks, findings } = await report(service)
    assert.strictEqual(statementsOf({ checks } as InsightReport)?.status, "done")
    const slow = findings.filter(({ kind }) => kind === "slow_statement")
    assert.deepStrictEqual(
      slow.map(({ details }) => [details["statement"], details["calls"], details["rows"]]),
      [["select pg_sleep($1), $2 as note", 1, 1]]
    )
    assert.isAtLeast(Number(slow[0]?.details["mean_ms"]), 150)
  } finally {
    await removeDataDir(dataDir)
  }
}, 120_000)
