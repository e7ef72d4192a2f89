import { ConfigProvider, Effect, ManagedRuntime, Layer } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { assert, it } from "vitest"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { ask, type Reply, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { databaseUrl } from "../../support/postgres/server.ts"
import { startReceiver } from "../../support/webhooks/receiver.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

const concurrency = 20
const env = (url: string, source: string) => ({
  DATABASE_URL: url,
  SVC_CHANGES: source,
  WEBHOOK_ALLOW_PRIVATE: "true",
  WEBHOOK_CONCURRENCY: String(concurrency),
  // Only kills may cause failures here: a timeout would be noise.
  WEBHOOK_TIMEOUT: "60s"
})

/** Inserts rows until it is stopped, despite errors; returns the numbers of those that PostgreSQL confirmed. */
const write = async (url: string, writer: number, signal: AbortSignal) => {
  const committed: Array<number> = []
  for (let n = 0; !signal.aborted;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 5_000 })
    client.on("error", () => undefined)
    try {
      await client.connect()
      for (; !signal.aborted; n++) {
        const { rows } = await client.query<{ id: number }>(
          "insert into loss (writer, n) select $1, $2 from generate_series(1, 1 + ($2::int % 3)) returning id",
          [writer, n]
        )
        committed.push(...rows.map(({ id }) => id))
        await sleep(5)
      }
    } catch {
      n++ // it is unknown whether this row was written
      await sleep(100)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  return committed
}

it.each(["trigger", "wal"])(
  "no committed row is lost while the service and PostgreSQL are killed, and only deliveries in flight are repeated: SVC_CHANGES=%s",
  async (source) => {
    const path = await makeDataDir()
    const settings = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ SVC_CHANGES: source }))
    const postgres = ManagedRuntime.make(Layer.provide(layerEmbedded, [DataDir.at(path), settings]))
    const sink = await startReceiver()
    let service: Service | undefined
    const client = (url: string) => {
      const one = new Client({ connectionString: url })
      one.on("error", () => undefined)
      return one.connect().then(() => one)
    }
    try {
      const url = databaseUrl(await postgres.runPromise(Effect.service(PostgresAddress)))
      const outside = await client(url)
      await outside.query("create table loss (id int generated always as identity primary key, writer int, n int)")
      const first = await startService({ env: env(url, source) })
      service = first
      const key = first.service_role
      const make = (): Promise<Reply> =>
        ask(first, "POST /api/webhooks", {
          key,
          body: { table_name: "loss", events: ["INSERT"], url: `${sink.url}/x` }
        })
      assert.strictEqual((await make()).status, 201)
      sink.answer = () => ({ delay: 20 })

      const stop = new AbortController()
      const writers = [1, 2, 3, 4].map((writer) => write(url, writer, stop.signal))
      const came = (more: number) => sink.count("/x", sink.received.length + more, 30_000)
      await came(100)
      await service.stop("SIGKILL")
      await sleep(500) // rows are written while no worker runs
      service = await startService({ env: env(url, source) })
      await came(200)
      process.kill(await postmasterOf({ dataDir: path }), "SIGKILL")
      await sleep(200)
      await came(200) // the same process continues
      await service.stop("SIGKILL")
      service = await startService({ env: env(url, source) })
      await came(200)
      stop.abort()
      const committed = (await Promise.all(writers)).flat()
      assert.isAbove(committed.length, 500)

      // The claims of the killed process expire after 20 s.
      const again = await client(url)
      const waiting = async () =>
        (await again.query("select from svc.webhook_messages where next_attempt_at is not null")).rowCount
      assert.strictEqual(await until(waiting, (count) => count === 0, 120_000), 0)

      const { rows } = await again.query<{ id: number }>("select id from loss order by id")
      const stored = rows.map(({ id }) => id)
      const delivered = new Set(sink.received.map(({ json }) => Number(json.row?.["id"])))
      assert.deepStrictEqual(
        committed.filter((id) => !delivered.has(id)),
        []
      )
      assert.deepStrictEqual(
        Array.from(delivered).sort((a, b) => a - b),
        stored,
        "what was stored and nothing else"
      )

      const log = await again.query<{ message: string; good: number; attempts: number }>(
        `select 'msg_' || m.message_id as message, count(*) filter (where l.status_code = 200)::int as good,
         max(l.attempt)::int as attempts
       from svc.webhook_messages m join svc.webhook_logs l on l.message_id = m.id group by m.id`
      )
      const times = Map.groupBy(sink.received, ({ headers }) => String(headers["webhook-id"]))
      // The log keeps 1,000 entries, and is complete for their messages.
      const unlogged = log.rows.filter(({ good }) => good !== 1)
      assert.deepStrictEqual(unlogged, [], "each message has one successful attempt in the log")
      const twice = Array.from(times.values()).filter((all) => all.length > 1)
      assert.isAtMost(twice.length, 3 * 3 * concurrency, "only deliveries in flight when something was killed")
      for (const all of twice) assert.isAtMost(all.length, 4)
      await Promise.allSettled([again.end(), outside.end()])
      assert.strictEqual((await service.stop()).code, 0)
      assert.notMatch(service.output(), /"level":"ERROR"/)
    } finally {
      await service?.[Symbol.asyncDispose]()
      await sink[Symbol.asyncDispose]()
      await postgres.dispose()
      await removeDataDir(path)
    }
  },
  300_000
)

it("a delivery that a crash of PostgreSQL has undone is made again under the same id", async () => {
  const sink = await startReceiver()
  const service = await startService({ env: { SVC_CHANGES: "wal", WEBHOOK_ALLOW_PRIVATE: "true" } })
  try {
    // Commits that do not wait for the disk are lost for longer.
    await sql(service, "alter system set wal_writer_delay = '10s'")
    await sql(service, "select pg_reload_conf()")
    await sql(service, "create table undone (id int primary key)")
    const body = { table_name: "undone", events: ["INSERT"], url: `${sink.url}/x` }
    const { status } = await ask(service, "POST /api/webhooks", { key: service.service_role, body })
    assert.strictEqual(status, 201)
    for (const id of [1, 2, 3]) {
      const before = await postmasterOf(service)
      await sql(service, "insert into undone values ($1)", [id])
      await until(
        async () => sink.received.some(({ json }) => json.row?.["id"] === id),
        (came) => came
      )
      process.kill(before, "SIGKILL")
      await until(
        () => postmasterOf(service).catch(() => before),
        (now) => now !== before,
        20_000
      )
      await until(
        () => ask(service, "GET /readyz"),
        ({ status }) => status === 200,
        20_000
      )
    }
    await sql(service, "insert into undone values (4)")
    await until(
      async () => sink.received.some(({ json }) => json.row?.["id"] === 4),
      (came) => came,
      30_000
    )
    const ids = Map.groupBy(sink.received, ({ json }) => json.row?.["id"])
    assert.deepStrictEqual(
      Array.from(ids, ([id, all]) => [id, new Set(all.map(({ headers }) => headers["webhook-id"])).size]).sort(),
      [1, 2, 3, 4].map((id) => [id, 1])
    )
    assert.isAbove(sink.received.length, 4, "no delivery was undone")
  } finally {
    await service[Symbol.asyncDispose]()
    await sink[Symbol.asyncDispose]()
  }
}, 240_000)
