import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, type Reply, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { makeNetwork, type Network } from "../../support/postgres/network.ts"
import { until } from "../../support/service.ts"

const flag = { type: "boolean", variants: { on: true, off: false }, defaultVariant: "on", state: "ENABLED" }

describe("a session that ends while a request waits for a lock", () => {
  let service: InProcessService
  let admin: Client
  /** Outside of transactions, in which pg_stat_activity does not change. */
  let watcher: Client
  beforeAll(async () => {
    service = await serveInProcess({ SVC_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64") })
    admin = new Client({ connectionString: service.databaseUrl })
    await admin.connect()
    watcher = new Client({ connectionString: service.databaseUrl })
    await watcher.connect()
    await admin.query("create table things (id int primary key)")
    await admin.query("insert into things values (1)")
    const key = service.service_role
    assert.strictEqual((await ask(service, "POST /api/flags", { key, body: { key: "f", ...flag } })).status, 201)
    const hook = { name: "w", table_name: "things", url: "https://example.com/", events: ["INSERT"] }
    assert.strictEqual((await ask(service, "POST /api/webhooks", { key, body: hook })).status, 201)
  })
  afterAll(async () => {
    await admin.end()
    await watcher.end()
    await service[Symbol.asyncDispose]()
  })

  it.each([
    ["PUT /api/flags/f", { state: "DISABLED" }, "svc.flags"],
    ["POST /api/realtime/subscribe", { table: "things" }, "svc.realtime_subscriptions"],
    [
      "POST /api/webhooks",
      { name: "x", table_name: "things", url: "https://example.com/", events: ["INSERT"] },
      "svc.webhooks"
    ],
    ["PATCH /api/webhooks/1", { name: "y" }, "svc.webhooks"],
    ["POST /api/connections", { name: "c", connection_url: "postgres://a:b@example.com/c" }, "svc.connections"],
    ["GET /api/keys", undefined, "svc.api_keys"],
    ["GET /v1/db/things", undefined, "things"],
    ["PATCH /v1/db/things?id=eq.1", { id: 1 }, "things"],
    ["POST /v1/sql", { sql: "select * from things" }, "things"],
    ["POST /v1/sql/transaction", { statements: [{ sql: "select 1" }, { sql: "select * from things" }] }, "things"]
  ])("%s is 503, without a stack trace in the log", async (line, body, table) => {
    const before = service.output().length
    await admin.query(`begin; lock table ${table}`)
    const reply = ask(service, line, { key: service.service_role, body })
    const waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    const { rows } = await until(
      () => watcher.query<{ pid: number }>(waiting),
      ({ rows }) => rows.length > 0
    )
    if (rows.length === 0) await admin.query("rollback")
    assert.isNotEmpty(rows, `${line} does not wait: ${rows.length === 0 ? (await reply).text : ""}`)
    // A failed statement may be tried again on another connection.
    const ended = reply.finally(() => clearInterval(timer))
    const timer = setInterval(() => void watcher.query(`select pg_terminate_backend(pid) from (${waiting}) as w`), 50)
    const answer = await ended
    await admin.query("rollback")
    assertRefused(answer, 503, "DATABASE_UNAVAILABLE")
    assert.strictEqual(answer.headers.get("retry-after"), "1")
    const logged = service.output().slice(before)
    assert.notMatch(logged, /Request .* failed/)
    assert.notMatch(logged, /\n? +at /)
  })
})

describe("a network that drops all packets", () => {
  let network: Network
  let service: InProcessService
  beforeAll(async () => {
    network = await makeNetwork(inject("databaseUrl"))
    service = await serveInProcess({}, network.through)
    await sql(service, "create table things (id int primary key)")
    const body = { key: "f", ...flag }
    assert.strictEqual((await ask(service, "POST /api/flags", { key: service.service_role, body })).status, 201)
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    await network[Symbol.asyncDispose]()
  })

  it("fails what needs the database within seconds, and evaluates known flags", async () => {
    const key = service.service_role
    const timed = async (line: string, body?: unknown): Promise<Reply & { readonly millis: number }> => {
      const from = performance.now()
      const reply = await ask(service, line, { key, ...(body === undefined ? {} : { body }) })
      return { ...reply, millis: performance.now() - from }
    }
    const evaluate = () => timed("POST /api/flags/evaluate", { flagKey: "f", context: {} })
    await ask(service, "GET /v1/db/things", { key })
    network.drop()
    const early = Promise.all([
      timed("GET /v1/db/things"),
      timed("POST /v1/sql", { sql: "select 1" }),
      timed("GET /api/keys")
    ])
    for (const { status, millis } of await early) {
      assert.oneOf(status, [503, 504])
      assert.isBelow(millis, 20_000)
    }
    // The listener has lost its connection too by now.
    await until(async () => /Listener lost/.test(service.output()), Boolean)
    for (let n = 0; n < 20; n++) {
      const { millis, status, text } = await evaluate()
      assert.strictEqual(status, 200, text)
      assert.isBelow(millis, 3_000)
    }
    const late = ["GET /v1/db/things", "GET /api/keys", "POST /api/flags/evaluate"]
    const unknown = await Promise.all(late.map((line) => ask(service, line, { key: `svc_sk_${"x".repeat(43)}` })))
    for (const reply of unknown) assertRefused(reply, 503)
    network.deliver()
    const recovered = await until(
      () => timed("GET /v1/db/things"),
      ({ status }) => status === 200
    )
    assert.strictEqual(recovered.status, 200)
    assert.strictEqual(
      (
        await until(
          () => timed("GET /api/keys"),
          ({ status }) => status === 200
        )
      ).status,
      200
    )
  }, 60_000)
})
