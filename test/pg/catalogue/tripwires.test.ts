import { Effect, Exit, Scope } from "effect"
import { Client } from "pg"
import { assert, describe, inject, it } from "vitest"
import { coverage } from "../../../bench/tripwires/ways/coverage.ts"
import { makeSchemas } from "../../../bench/tripwires/database.ts"
import { overHttp } from "../../../bench/tripwires/http.ts"
import { type Report, runTripwires } from "../../../bench/tripwires/run.ts"
import { inProcess, settings, type Target } from "../../../bench/tripwires/target.ts"
import { allWays } from "../../../bench/tripwires/ways/all.ts"
import { newDatabase } from "../../support/database.ts"
import { serveInProcess } from "../../support/inProcess.ts"

/** In CI the same cases each time, as for properties (test/support/seed.ts). */
const seed = process.env["CI"] === "true" ? 261_127 : Date.now() % 1_000_000

const run = async (databaseUrl: string, target: Target, statements: number) => {
  const report = await runTripwires(databaseUrl, target, { seed, statements, batch: 250, stopAfter: 3 })
  const { refusals: _, violations, ways: __, ...counts } = report
  process.stdout.write(`Tripwires: ${JSON.stringify({ ...counts, violations: violations.length })}\n`)
  assert.deepStrictEqual(
    violations.map(({ requests, sql, ways }) => `${ways.join(" < ")}\n${sql}\n-- ${requests.join("\n-- ")}`),
    [],
    `seed ${seed}`
  )
  return report
}

/** Else the check would hold for nothing. */
const assertMeaningful = (report: Report) => {
  assert.isBelow(report.refused, report.cases * 0.4, "cases that PostgreSQL refused")
  assert.isAbove(report.answered, report.statements * 0.5, "requests that succeeded")
  assert.isAbove(report.reached, report.hidden * 0.12, "tripwires that ran")
}

// Fewer leave out more than a tenth of the ways; `npm run check:tripwires` makes more of them.
describe("user code that is counted", () => {
  it("runs on no connection that callers share, whatever leads to it", { timeout: 600_000 }, async () => {
    const scope = Scope.makeUnsafe()
    const { database } = await Effect.runPromise(Scope.provide(newDatabase(`tripwires_${process.pid}`), scope))
    const url = new URL(inject("databaseUrl"))
    url.pathname = database
    await makeSchemas(url.href)
    const target = await inProcess(url.href)
    const report = await run(url.href, target, 20_000).finally(async () => {
      await target[Symbol.asyncDispose]()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    })
    assertMeaningful(report)
    assert.isAbove(report.harmlessClean, report.harmless * 0.2, "requests without a tripwire that ran clean")
    const unused = allWays.filter((way) => {
      const { cases, refused } = report.ways[way] ?? { cases: 0, refused: 0 }
      return cases === refused
    })
    assert.isBelow(unused.length, allWays.length * 0.1, unused.join(", "))
  })

  it("runs on none of the whole service's", { timeout: 600_000 }, async () => {
    await using service = await serveInProcess(settings, async (databaseUrl) => {
      await makeSchemas(databaseUrl)
      return databaseUrl
    })
    await using target = overHttp(service)
    assertMeaningful(await run(service.databaseUrl, target, 400))
  })

  it("is looked for in every part of the catalogue that holds functions and expressions", async () => {
    const client = new Client({ connectionString: inject("databaseUrl") })
    await client.connect()
    const { rows } = await client.query<{ name: string }>(
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind = 'r' and a.attnum > 0
         and (a.atttypid in ('regproc'::regtype, 'pg_node_tree'::regtype)
              or c.relname || '.' || a.attname in (select fktable || '.' || unnest(fkcols) from (
                select fktable::text, fkcols, pktable::text from pg_get_catalog_foreign_keys()) k where pktable = 'pg_proc'))
       order by 1`
    )
    await client.end()
    assert.deepStrictEqual(
      rows.map(({ name }) => name).filter((name) => !(name in coverage)),
      []
    )
    const named = Object.values(coverage).flatMap((ways) => (typeof ways === "string" ? [] : ways))
    assert.deepStrictEqual(
      named.filter((way) => !allWays.includes(way)),
      []
    )
  })
})
