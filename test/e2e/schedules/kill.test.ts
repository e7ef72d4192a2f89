import { assert, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { startService, until } from "../../support/service.ts"

interface Run {
  readonly status: string
  readonly scheduled_at: string
  readonly attempt: number
  readonly cause: string
}

/** Leases of runs expire after 30 s. */
const patience = 60_000

it(
  "runs of a process that was killed are ended by the next one, which makes up for times as the schedules say",
  { timeout: 2 * patience },
  async () => {
    const dataDir = await makeDataDir()
    let service = await startService({ dataDir })
    const manage = async (line: string, body?: object) => {
      const reply = await ask(service, line, { key: service.service_role, ...(body && { body }) })
      return { ...reply, json: reply.json as Readonly<Record<string, unknown>> }
    }
    const make = async (given: object) => {
      const { json, status, text } = await manage("POST /api/schedules", { cron: "0 0 1 1 *", ...given })
      assert.strictEqual(status, 201, text)
      return Number(json["id"])
    }
    const runs = async (id: number) =>
      (await manage(`GET /api/schedules/${id}/runs`)).json as object as ReadonlyArray<Run>
    try {
      await sql(service, "create table marks (at timestamptz default clock_timestamp())")
      const statement = "insert into marks default values; select pg_sleep(300)"
      const long = await make({ name: "long", target: { type: "sql", sql: statement } })
      const ticks = await make({ name: "ticks", cron: "* * * * * *", target: { type: "sql", sql: "select 1" } })
      await manage(`POST /api/schedules/${long}/run`)
      await until(
        () => runs(long),
        ([run]) => run?.status === "running"
      )
      await until(
        () => runs(ticks),
        (all) => all.some(({ status }) => status === "succeeded")
      )
      await service.stop("SIGKILL")
      service = await startService({ dataDir })
      const [ended] = await until(
        () => runs(long),
        ([run]) => run?.status === "interrupted",
        patience
      )
      assert.strictEqual(ended?.attempt, 1)
      const all = await until(
        () => runs(ticks),
        ([run]) => run?.status === "succeeded"
      )
      const times = all.filter(({ cause }) => cause === "time").map(({ scheduled_at }) => scheduled_at)
      assert.strictEqual(new Set(times).size, times.length)
      const { json } = await manage("POST /v1/sql", {
        sql: `select (select count(*) from marks)::int as marks,
          (select count(*) from pg_stat_activity where query like '%pg_sleep(300)%' and pid <> pg_backend_pid())::int as left`
      })
      assert.deepStrictEqual(json["rows"], [{ marks: 0, left: 0 }])
    } finally {
      await service[Symbol.asyncDispose]()
      await removeDataDir(dataDir)
    }
  }
)
