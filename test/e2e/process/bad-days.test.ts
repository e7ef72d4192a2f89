import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, type Reply, sql } from "../../support/client.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

/** A service with few connections and the shortest timeouts that its settings allow. */
const env = { SVC_DB_POOL_SIZE: "2", SVC_DB_TIMEOUT: "20s" }
let service: Service

beforeAll(async () => {
  service = await startService({ env })
  await sql(service, "create table kept (id int generated always as identity primary key, note text)")
  await sql(service, "create function nap(s float8) returns void language sql as 'select pg_sleep(s)'")
})
afterAll(() => service[Symbol.asyncDispose]())

const nap = (s: number, key: string, signal?: AbortSignal) =>
  ask(service, "POST /v1/db/rpc/nap", { key, body: { s }, ...(signal === undefined ? {} : { signal }) })
const sleepers = async () =>
  (
    await sql(
      service,
      "select from pg_stat_activity where query ~ 'nap|pg_sleep' and state = 'active' and pid <> pg_backend_pid()"
    )
  ).length
const insert = (note: string) => ask(service, "POST /v1/db/kept", { key: service.anon, body: { note } })
const good = ({ status }: Reply) => status < 300

/** Asserts that every response is a success, or a 503 with Retry-After. */
const assertGoodOrBusy = (reply: Reply) => {
  if (good(reply)) return
  assertRefused(reply, 503)
  assert.match(reply.headers.get("retry-after") ?? "", /^\d+$/)
}

describe("a client that disconnects", () => {
  it.each([
    ["a function", "POST /v1/db/rpc/nap", { s: 15 }],
    ["a statement", "POST /v1/sql", { sql: "select pg_sleep(15)" }],
    ["a transaction", "POST /v1/sql/transaction", { statements: [{ sql: "select pg_sleep(15)" }] }]
  ])("cancels its query: %s", async (_name, line, body) => {
    const disconnect = new AbortController()
    const call = ask(service, line, { key: service.service_role, body, signal: disconnect.signal }).then(
      () => "answered",
      () => "hung up"
    )
    assert.strictEqual(await until(sleepers, (count) => count === 1), 1)
    disconnect.abort()
    assert.strictEqual(await call, "hung up")
    assert.strictEqual(await until(sleepers, (count) => count === 0), 0)
    assert.strictEqual((await ask(service, "GET /v1/db/kept", { key: service.service_role })).status, 200)
  })
})

describe("when all connections are in use", () => {
  it("further requests fail with Retry-After within 5 s, without hanging", async () => {
    const disconnect = new AbortController()
    const napping = Array.from({ length: 2 }, () =>
      nap(18, service.service_role, disconnect.signal).catch(() => undefined)
    )
    assert.strictEqual(await until(sleepers, (count) => count === 2), 2)
    const from = Date.now()
    const replies = await Promise.all(Array.from({ length: 20 }, () => nap(0, service.service_role)))
    assert.isBelow(Date.now() - from, 5_000)
    for (const reply of replies) {
      assertRefused(reply, 503, "POOL_EXHAUSTED")
      assert.match(reply.headers.get("retry-after") ?? "", /^\d+$/)
    }
    // Other roles have other connections, and so has the health check.
    assert.strictEqual((await insert("meanwhile")).status, 201)
    assert.strictEqual((await ask(service, "GET /readyz")).status, 200)
    disconnect.abort()
    await Promise.all(napping)
    assert.isTrue(good(await until(() => insert("after"), good)))
  })
})

describe("PostgreSQL killed", () => {
  it("is restarted without a restart of the service, with only successes and 503 meanwhile", async () => {
    const before = await postmasterOf(service)
    const replies: Array<Reply> = []
    const busy = new AbortController()
    const load = Array.from({ length: 8 }, async (_, i) => {
      while (!busy.signal.aborted) {
        replies.push(
          i % 4 === 0
            ? await insert("load")
            : i % 4 === 1
              ? await ask(service, "GET /v1/db/kept?limit=1", { key: service.anon })
              : i % 4 === 2
                ? await ask(service, "POST /v1/sql", { key: service.service_role, body: { sql: "select 1" } })
                : await ask(service, "GET /readyz")
        )
      }
    })
    await until(
      async () => replies.length,
      (count) => count > 50
    )
    process.kill(before, "SIGKILL")
    const ready = () => ask(service, "GET /readyz")
    await until(ready, ({ status }) => status === 503)
    assert.strictEqual((await until(ready, good, 20_000)).status, 200)
    busy.abort()
    await Promise.all(load)
    assert.notStrictEqual(await postmasterOf(service), before)
    for (const reply of replies) assertGoodOrBusy(reply)
    assert.isTrue(replies.some(({ status }) => status === 503))
    for (const key of [service.anon, service.service_role]) {
      const rows = await until(() => ask(service, "GET /v1/db/kept?limit=1", { key }), good)
      assert.strictEqual(rows.status, 200, rows.text)
    }
    assert.isTrue(good(await until(() => insert("again"), good)))
    assert.deepStrictEqual(await sql(service, "select 1 as n"), [{ n: 1 }])
    assert.notMatch(service.output(), /Request \S+ failed/)
  })

  it("does not make a revoked key valid again", async () => {
    const made = await ask(service, "POST /api/keys", { key: service.service_role, body: { keyType: "anon" } })
    const { key, secret } = made.json as { key: { id: number }; secret: string }
    const use = () => ask(service, "GET /v1/db/kept?limit=1", { key: secret })
    assert.strictEqual((await use()).status, 200)
    await ask(service, `DELETE /api/keys/${key.id}`, { key: service.service_role })
    assertRefused(await use(), 401)
  })
})

/** Inserts by so many clients at once until the service is gone, or `end`, and returns the notes that were acknowledged. */
const writersOf = (service: Service, count: number, name: string) => {
  const written: Array<string> = []
  const stop = new AbortController()
  const ended = Promise.all(
    Array.from({ length: count }, async (_, i) => {
      for (let n = 0; !stop.signal.aborted; n++) {
        const note = `${name}${i}-${n}`
        const body = { note }
        const reply = await ask(service, "POST /v1/db/kept", { key: service.anon, body }).catch(() => undefined)
        if (reply === undefined) return
        if (reply.status === 201) written.push(note)
      }
    })
  )
  const after = (least: number) =>
    until(
      async () => written.length,
      (count) => count > least
    )
  const end = async () => {
    stop.abort()
    await ended
  }
  return { written, after, end }
}

describe("the service killed, and then its PostgreSQL", () => {
  it("starts again on the same data directory, with all acknowledged writes", async () => {
    const first = writersOf(service, 4, "a")
    const postmaster = await postmasterOf(service)
    await first.after(20)
    await service.stop("SIGKILL")
    await first.end()
    const { anon, dataDir, jwtSecret, service_role } = service
    const again = await startService({ dataDir, jwtSecret })
    const kept = ({ written }: typeof first) =>
      sql(again, "select note from kept where note = any ($1::text[])", [written])
    try {
      assert.deepStrictEqual([again.anon, again.service_role], [anon, service_role])
      assert.notStrictEqual(await postmasterOf(again), postmaster)
      assert.strictEqual((await kept(first)).length, first.written.length)
      // So many that they share connections, and waits for the disk.
      const second = writersOf(again, 32, "b")
      await second.after(300)
      const killed = await postmasterOf(again)
      process.kill(killed, "SIGKILL")
      // Its sessions may answer for a moment.
      await until(
        () => postmasterOf(again).catch(() => killed),
        (now) => now !== killed,
        20_000
      )
      assert.isTrue(good(await until(() => ask(again, "GET /readyz"), good, 20_000)))
      await second.end()
      assert.strictEqual((await kept(second)).length, second.written.length)
    } finally {
      assert.strictEqual((await again.stop()).code, 0)
    }
  })
})
