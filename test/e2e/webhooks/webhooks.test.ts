import { execFile } from "node:child_process"
import { createHmac, randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Webhook as Verifier } from "standardwebhooks"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, type Request, sql } from "../../support/client.ts"
import { asMember, logIn, register, sessionCookie } from "../../support/identity/people.ts"
import { nextTotpCode, totpCode } from "../../support/identity/totp.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"
import { type Service, startService, until } from "../../support/service.ts"

const run = promisify(execFile)

interface Record {
  readonly id: number
  readonly active: boolean
  readonly fail_count: number
  readonly [field: string]: unknown
}
interface Log {
  readonly id: number
  readonly event_type: string
  readonly status_code: number | null
  readonly message_id: string
  readonly attempt: number
  readonly payload: { readonly row: unknown }
  readonly [field: string]: unknown
}

let service: Service
let sink: Receiver
let key = ""

beforeAll(async () => {
  const env = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_RETRY_SCHEDULE: "100ms,200ms", WEBHOOK_TIMEOUT: "2s" }
  ;[service, sink] = await Promise.all([startService({ env }), startReceiver()])
  key = service.service_role
  await sql(service, "create table notes (id bigint primary key, amount numeric, text text)")
  await sql(service, "create view looking as select 1 as n")
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await sink[Symbol.asyncDispose]()
})

const call = (line: string, body?: unknown, request: Request = {}) =>
  ask(service, line, { key, ...(body === undefined ? {} : { body }), ...request })

const create = async (given: object = {}): Promise<Record> => {
  const reply = await call("POST /api/webhooks", {
    table_name: "notes",
    events: ["INSERT"],
    url: `${sink.url}/x`,
    ...given
  })
  assert.strictEqual(reply.status, 201, reply.text)
  return reply.json as Record
}
const find = async (id: number) => (await call(`GET /api/webhooks/${id}`)).json as Record
const remove = ({ id }: Record) => call(`DELETE /api/webhooks/${id}`)
const logs = async (id: number, query = "") =>
  (await call(`GET /api/webhooks/${id}/logs${query}`)).json as ReadonlyArray<Log>
const logged = (id: number, count: number) =>
  until(
    () => logs(id),
    (all) => all.length >= count
  )
let rows = 0
const insert = async (text = "a note") => {
  await sql(service, "insert into notes values ($1, 1.10, $2)", [++rows, text])
  return rows
}

describe("managing webhooks", () => {
  it("creates, returns, lists, changes and deletes; the secret is never returned", async () => {
    const made = await create({
      name: "to the shop",
      events: ["UPDATE", "INSERT", "UPDATE"],
      headers: { Authorization: "Bearer x" },
      secret: "do not show this"
    })
    const { created_at, id, updated_at, ...rest } = made
    assert.deepStrictEqual(rest, {
      name: "to the shop",
      table_schema: "public",
      table_name: "notes",
      events: ["UPDATE", "INSERT"],
      url: `${sink.url}/x`,
      headers: { Authorization: "Bearer x" },
      has_secret: true,
      format: "svc",
      active: true,
      fail_count: 0,
      disabled_at: null,
      disabled_reason: null,
      table_exists: true,
      waiting: 0,
      last_attempt: null
    } as unknown as typeof rest)
    assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.strictEqual(updated_at, created_at)
    assert.deepStrictEqual((await call("GET /api/webhooks")).json, [made])
    assert.deepStrictEqual(await find(id), made)
    assert.deepStrictEqual((await call("GET /v1/webhooks")).json, [made])
    assert.deepStrictEqual((await call(`GET /v1/webhooks/${id}`)).json, made)

    const changed = (await call(`PATCH /api/webhooks/${id}`, { name: "", secret: null, headers: {}, active: false }))
      .json
    assert.deepInclude(changed, {
      name: "",
      has_secret: false,
      headers: {},
      active: false,
      events: ["UPDATE", "INSERT"]
    })
    const unchanged = await call(`PATCH /api/webhooks/${id}`, {})
    assert.deepStrictEqual([unchanged.status, unchanged.json], [200, changed])
    const all = [await call("GET /api/webhooks"), await call("GET /v1/webhooks")]
    for (const { text } of all) assert.notInclude(text, "do not show this")

    const gone = await remove(made)
    assert.deepStrictEqual([gone.status, gone.json], [200, { success: true }])
    assert.deepStrictEqual((await call("GET /api/webhooks")).json, [])
    assertRefused(await remove(made), 404, "WEBHOOK_NOT_FOUND")
  })

  const good = { table_name: "notes", events: ["INSERT"], url: "https://example.com/" }
  const cases: ReadonlyArray<readonly [body: unknown, field: RegExp]> = [
    [{}, /^url: /],
    [{ events: ["INSERT"], url: good.url }, /^table_name: /],
    [{ ...good, table_name: "" }, /^table_name: /],
    [{ ...good, table_name: "a\0" }, /^table_name: /],
    [{ ...good, table_name: 7 }, /^table_name: /],
    [{ ...good, events: [] }, /^events: /],
    [{ ...good, events: ["TRUNCATE"] }, /^events\.0: /],
    [{ ...good, events: "INSERT" }, /^events: /],
    [{ ...good, events: ["insert"] }, /^events\.0: /],
    [{ ...good, url: "example.com/x" }, /^url: /],
    [{ ...good, url: "ftp://example.com/" }, /^url: /],
    [{ ...good, url: "file:///etc/passwd" }, /^url: /],
    [{ ...good, url: "https://user:secret@example.com/" }, /^url: .*headers/],
    [{ ...good, url: "https://" }, /^url: /],
    [{ ...good, url: "https://exa mple.com" }, /^url: /],
    [{ ...good, url: " https://example.com" }, /^url: /],
    [{ ...good, url: `https://example.com/${"x".repeat(2048)}` }, /^url: /],
    [{ ...good, url: "https://example.com/\ud800" }, /^url: /],
    [{ ...good, headers: { "Content-Type": "text/plain" } }, /^headers\.Content-Type: /],
    [{ ...good, headers: { "webhook-ID": "x" } }, /^headers\.webhook-ID: /],
    [{ ...good, headers: { "a b": "x" } }, /^headers\.a b: /],
    [{ ...good, headers: { a: "x\r\nHost: y" } }, /^headers\.a: /],
    [{ ...good, headers: { a: 1 } }, /^headers\.a: /],
    [{ ...good, headers: ["a"] }, /^headers: /],
    [{ ...good, secret: "" }, /^secret: /],
    [{ ...good, secret: "x".repeat(1025) }, /^secret: /],
    [{ ...good, secret: "whsec_not base64" }, /^secret: /],
    [{ ...good, secret: "\0" }, /^secret: /],
    [{ ...good, name: "x".repeat(101) }, /^name: /],
    [{ ...good, name: null }, /^name: /],
    [{ ...good, active: "yes" }, /^active: /]
  ]
  it.each(cases)("rejects %o and names the field", async (body, field) => {
    const { details } = assertRefused(await call("POST /api/webhooks", body), 400, "INVALID_REQUEST")
    assert.isTrue(
      (details as Array<string>).some((line) => field.test(line)),
      String(details)
    )
  })

  it("names every invalid field", async () => {
    const reply = await call("POST /api/webhooks", { table_name: "", events: [], url: "x", secret: "", active: 1 })
    const { details } = assertRefused(reply, 400, "INVALID_REQUEST")
    assert.deepStrictEqual((details as Array<string>).map((line) => line.split(":")[0]).sort(), [
      "active",
      "events",
      "secret",
      "table_name",
      "url"
    ])
  })

  it("rejects missing tables and tables that can't be watched", async () => {
    const about = (table: object) => call("POST /api/webhooks", { ...good, ...table })
    assertRefused(await about({ table_name: "nothing" }), 404, "TABLE_NOT_FOUND")
    assertRefused(await about({ table_schema: "nowhere" }), 404, "TABLE_NOT_FOUND")
    assertRefused(await about({ table_name: "looking" }), 400, "TABLE_NOT_WATCHABLE")
    assertRefused(await about({ table_schema: "svc", table_name: "api_keys" }), 400, "TABLE_NOT_WATCHABLE")
    assertRefused(await about({ table_name: "notes'; drop table notes; --" }), 404, "TABLE_NOT_FOUND")
    assert.deepStrictEqual((await call("GET /api/webhooks")).json, [])
  })

  it("returns 404 for unknown ids and 400 for invalid ones", async () => {
    const lines = ["GET /:id", "PATCH /:id", "DELETE /:id", "POST /:id/test", "GET /:id/logs", "POST /:id/replay/1"]
    for (const line of lines) {
      const about = (id: string) =>
        call(line.replace("/:id", `/api/webhooks/${id}`), line.startsWith("PATCH") ? { name: "x" } : undefined)
      for (const id of ["2147483647", "2147483648", "9007199254740991"]) {
        assertRefused(await about(id), 404, "WEBHOOK_NOT_FOUND")
      }
      for (const id of ["first", "1.5", "%00"]) assertRefused(await about(id), 400, "INVALID_REQUEST")
    }
    for (const id of ["2147483648", "9007199254740991"]) {
      assertRefused(await call(`GET /v1/webhooks/${id}`), 404, "WEBHOOK_NOT_FOUND")
    }
  })

  it("requires a service key", async () => {
    for (const line of [
      "GET /api/webhooks",
      "POST /api/webhooks",
      "GET /v1/webhooks",
      "GET /v1/webhooks/1",
      "POST /api/webhooks/1/test"
    ]) {
      const body = line === "POST /api/webhooks" ? { body: {} } : {}
      assertRefused(await ask(service, line, body), 401)
      assertRefused(await ask(service, line, { ...body, key: service.anon }), 403, "FORBIDDEN")
    }
    assertRefused(await call("POST /api/webhooks", "{", {}), 400)
    assertRefused(await call("PUT /api/webhooks"), 405, "METHOD_NOT_ALLOWED")
  })
})

describe("a delivery", () => {
  it.each([
    [
      "a secret of any kind",
      "schlüssel & 🔑",
      (secret: string) => new Verifier(Buffer.from(secret), { format: "raw" })
    ],
    [
      "a secret of Standard Webhooks",
      "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
      (secret: string) => new Verifier(secret)
    ]
  ])("is signed with %s, verified by its library and openssl", async (_name, secret, verifier) => {
    // A path of its own: another attempt may have left a webhook with another secret.
    const path = `/signed/${randomUUID()}?a=b`
    const hook = await create({ secret, events: ["INSERT", "UPDATE", "DELETE"], url: `${sink.url}${path}` })
    const id = await insert('é🎉 "quoted" \u2028')
    await sql(service, "update notes set id = id + 9007199254740000000 where id = $1", [id])
    await sql(service, "delete from notes where id > 9007199254740000000")
    const deliveries = await sink.count(path, 3)
    const directory = await mkdtemp(join(tmpdir(), "svc-test-"))
    try {
      for (const { body, headers } of deliveries) {
        verifier(secret).verify(body.toString("utf8"), headers as { [name: string]: string })
        const file = join(directory, "body")
        await writeFile(file, body)
        const { stdout } = await run("openssl", ["dgst", "-sha256", "-hmac", secret, file])
        assert.strictEqual(stdout.trim().split("= ")[1], headers["x-svc-signature"])
        assert.strictEqual(headers["content-type"], "application/json")
        assert.match(String(headers["user-agent"]), /^svc-webhooks\//)
      }
    } finally {
      await rm(directory, { recursive: true })
    }
    const deleted = deliveries.find(({ json }) => json.event === "DELETE")
    assert.include(
      deleted?.body.toString(),
      `"row":null,"old_row":{"id":${BigInt(id) + 9007199254740000000n},"amount":1.10,`
    )
    await logged(hook.id, 3)
    assert.include(
      (await call(`GET /api/webhooks/${hook.id}/logs`)).text,
      `"id":${BigInt(id) + 9007199254740000000n},"amount":1.10`
    )
    await remove(hook)
  })

  it("has id and time but no signature without a secret", async () => {
    const hook = await create({ url: `${sink.url}/plain` })
    await insert()
    const [one] = await sink.count("/plain", 1)
    assert.notProperty(one?.headers, "x-svc-signature")
    assert.notProperty(one?.headers, "webhook-signature")
    assert.closeTo(Number(one?.headers["webhook-timestamp"]), Date.now() / 1000, 10)
    await remove(hook)
  })

  it("is logged with the receiver's response, retried, and counted", async () => {
    const hook = await create({ url: `${sink.url}/failing` })
    sink.answer = ({ path }) => (path === "/failing" ? { status: 500, body: `no\0${"é".repeat(2_000)}` } : {})
    const id = await insert()
    const all = await logged(hook.id, 3)
    assert.deepStrictEqual(
      all.map(({ attempt, status_code }) => [attempt, status_code]),
      [
        [3, 500],
        [2, 500],
        [1, 500]
      ]
    )
    const { created_at, id: logId, latency_ms, message_id, payload, response_body, ...rest } = all[0] as Log
    assert.deepStrictEqual(rest as object, {
      webhook_id: hook.id,
      event_type: "INSERT",
      status_code: 500,
      error: null,
      attempt: 3
    })
    assert.isAbove(logId, all[1]?.id ?? 0)
    assert.strictEqual(response_body, `no\ufffd${"é".repeat(510)}`)
    assert.match(message_id, /^msg_[\da-f-]{36}$/)
    assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.isAtLeast(Number(latency_ms), 0)
    assert.deepInclude(payload, { row: { id, amount: 1.1, text: "a note" } })
    assert.strictEqual((await find(hook.id)).fail_count, 3)

    assert.deepStrictEqual(
      (await logs(hook.id, "?limit=1")).map(({ id }) => id),
      [logId]
    )
    assert.deepStrictEqual(
      (await logs(hook.id, `?limit=2&before=${logId}`)).map(({ attempt }) => attempt),
      [2, 1]
    )
    for (const query of ["limit=0", "limit=501", "limit=x", "before=0", "before=x"]) {
      assertRefused(await call(`GET /api/webhooks/${hook.id}/logs?${query}`), 400, "INVALID_REQUEST")
    }

    // A replay sends the same message again, and counts.
    sink.answer = () => ({ status: 202, body: "at last" })
    const replayed = await call(`POST /api/webhooks/${hook.id}/replay/${logId}`)
    const answer = replayed.json as { readonly [field: string]: unknown }
    assert.strictEqual(replayed.status, 200, replayed.text)
    assert.deepInclude(answer, { status_code: 202, response_body: "at last", error: null })
    assert.strictEqual((await find(hook.id)).fail_count, 0)
    const [newest] = await logs(hook.id)
    assert.deepInclude(newest ?? {}, { id: answer["log_id"] as number, message_id, attempt: 4, event_type: "INSERT" })
    const bodies = sink.at("/failing").map(({ body }) => body.toString())
    assert.deepStrictEqual(new Set(bodies).size, 1)
    assert.lengthOf(new Set(sink.at("/failing").map(({ headers }) => headers["webhook-id"])), 1)

    const other = await create()
    assertRefused(await call(`POST /api/webhooks/${other.id}/replay/${logId}`), 404, "LOG_NOT_FOUND")
    for (const id of ["0", "-1", "9007199254740991"]) {
      assertRefused(await call(`POST /api/webhooks/${hook.id}/replay/${id}`), 404, "LOG_NOT_FOUND")
    }
    await remove(hook)
    await remove(other)
    assertRefused(await call(`GET /api/webhooks/${hook.id}/logs`), 404, "WEBHOOK_NOT_FOUND")
  })

  it("is not sent for an inactive webhook, but a test is, which does not count", async () => {
    const hook = await create({ url: `${sink.url}/off`, active: false, secret: "s" })
    await insert()
    sink.answer = () => ({ status: 418, body: "teapot" })
    const tested = (await call(`POST /api/webhooks/${hook.id}/test`)).json as {
      readonly log_id: number
      readonly [field: string]: unknown
    }
    assert.deepInclude(tested, { status_code: 418, response_body: "teapot", error: null })
    const [sent] = sink.at("/off")
    assert.deepInclude(sent?.json, { event: "TEST", schema: "public", table: "notes", row: null, old_row: null })
    assert.match(sent?.json.timestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.isString(sent?.headers["x-svc-signature"])
    assert.lengthOf(sink.at("/off"), 1)
    const all = await logs(hook.id)
    assert.deepStrictEqual(
      all.map(({ event_type, id }) => [event_type, id]),
      [["TEST", tested.log_id]]
    )
    assert.strictEqual((await find(hook.id)).fail_count, 0)

    sink.answer = () => ({ hang: true })
    const timedOut = (await call(`POST /api/webhooks/${hook.id}/test`)).json
    assert.deepInclude(timedOut, { status_code: null, response_body: "" })
    assert.match(String((timedOut as { error: string }).error), /^Timeout/)
    sink.answer = () => ({ status: 302, headers: { location: "/elsewhere" } })
    assert.deepInclude((await call(`POST /api/webhooks/${hook.id}/test`)).json, { status_code: 302 })
    assert.lengthOf(sink.at("/elsewhere"), 0)
    sink.answer = () => ({})
    await remove(hook)
  })

  it("has the form of Supabase's on request, to the byte in the log, in retries and replays", async () => {
    sink.answer = ({ path }) => ({ status: path === "/supabase" ? 500 : 200 })
    const hook = await create({ url: `${sink.url}/supabase`, events: ["INSERT", "DELETE"], format: "supabase" })
    const sent = () => sink.at("/supabase").map(({ body }) => body.toString())
    const row = '{"id":9007199254740993,"amount":1.10,"text":"a"}'
    const head = (type: string) => `{"type":"${type}","table":"notes","schema":"public","record":`
    await sql(service, "insert into notes values (9007199254740993, 1.10, 'a')")
    const [last] = await logged(hook.id, 2)
    const inserted = `${head("INSERT")}${row},"old_record":null}`
    assert.deepStrictEqual([...new Set(sent())], [inserted])
    assert.include((await call(`GET /api/webhooks/${hook.id}/logs`)).text, inserted)
    sink.answer = () => ({ status: 200 })
    await call(`POST /api/webhooks/${hook.id}/replay/${last?.id}`)
    await sql(service, "delete from notes where id = 9007199254740993")
    await call(`POST /api/webhooks/${hook.id}/test`)
    const bodies = await until(
      async () => new Set(sent()),
      (all) => all.size === 3
    )
    const deleted = `${head("DELETE")}null,"old_record":${row}}`
    assert.sameMembers([...bodies], [inserted, deleted, `${head("TEST")}null,"old_record":null}`])
    const refused = await call(`PATCH /api/webhooks/${hook.id}`, { format: "other" })
    assertRefused(refused, 400, "INVALID_REQUEST")
    await remove(hook)
  })

  it("is sent to the current URL of the webhook", async () => {
    sink.answer = ({ path }) => ({ status: path === "/old" ? 500 : 200 })
    const hook = await create({ url: `${sink.url}/old` })
    await insert()
    await sink.count("/old", 1)
    await call(`PATCH /api/webhooks/${hook.id}`, { url: `${sink.url}/new`, secret: "now signed" })
    const [one] = await sink.count("/new", 1)
    assert.isString(one?.headers["x-svc-signature"])
    sink.answer = () => ({})
    await remove(hook)
  })

  it("is caused by writes of /v1/db, /v1/sql and transactions, but not by rollbacks", async () => {
    const hook = await create({ url: `${sink.url}/writes` })
    await call("POST /v1/db/notes", [{ id: 1001 }, { id: 1002 }])
    await call("POST /v1/sql/transaction", { statements: [{ sql: "insert into notes values (1003)" }] })
    const rolledBack = await call("POST /v1/sql/transaction", {
      statements: [{ sql: "insert into notes values (1004)" }, { sql: "select 1/0" }]
    })
    assert.isAtLeast(rolledBack.status, 400)
    await sql(service, "insert into notes values (1005)")
    const got = await sink.count("/writes", 4)
    assert.sameMembers(
      got.map(({ json }) => json.row?.["id"]),
      [1001, 1002, 1003, 1005]
    )
    await remove(hook)
  })
})

it("receivers on loopback addresses are rejected by default", async () => {
  const other = inject("service")
  await sql(other, "create table webhook_private (id int)")
  const made = await ask(other, "POST /api/webhooks", {
    key: other.service_role,
    body: { table_name: "webhook_private", events: ["INSERT"], url: `${sink.url}/private` }
  })
  const { id } = made.json as Record
  try {
    const tested = await ask(other, `POST /api/webhooks/${id}/test`, { key: other.service_role })
    assert.deepInclude(tested.json, { status_code: null, response_body: "" })
    assert.match(String((tested.json as { error: string }).error), /^Refused: .*WEBHOOK_ALLOW_PRIVATE/)
    assert.lengthOf(sink.at("/private"), 0)
  } finally {
    await ask(other, `DELETE /api/webhooks/${id}`, { key: other.service_role })
  }
})

it("leaves PostgreSQL alone at rest, and soon after a delivery", async () => {
  const log = join(service.dataDir, "postgres.log")
  const logged = async () => (await readFile(log, "utf8")).split(/^.*LOG:/m)
  const count = (statements: ReadonlyArray<string>, text: string) =>
    statements.filter((statement) => statement.includes(text)).length
  await sql(service, "alter system set log_statement = 'all'")
  await sql(service, "select pg_reload_conf()")
  const webhook = await create()
  const from = (await logged()).length
  const id = await insert()
  await sink.count("/x", 1)
  await sleep(3_000)
  const delivered = (await logged()).slice(from)
  const claim = "set next_attempt_at = now() + interval '20 s', claim"
  const claims = count(delivered, claim)
  assert.isAtLeast(claims, 2, `of row ${id}`)
  assert.isAtMost(claims, 18)
  const rest = (await logged()).length
  await sleep(5_000)
  const idle = (await logged()).slice(rest)
  assert.isAtMost(count(idle, claim), 1)
  assert.isAtMost(count(idle, "pg_partitioned_table"), 2, "catalogues are compared only after a write")
  await sql(service, "alter system reset log_statement")
  await sql(service, "select pg_reload_conf()")
  await remove(webhook)
}, 20_000)

describe("accounts", () => {
  interface Happened {
    readonly event: string
    readonly row: Readonly<{ [field: string]: unknown }> | null
    readonly old_row: { readonly id: string } | null
    readonly session?: { readonly methods: ReadonlyArray<string>; readonly aal: string }
  }
  const all = ["identity.created", "identity.updated", "identity.deleted", "identity.signed_in"]
  const listen = async (path: string, events = all, secret = "a secret of the hook") =>
    call("POST /api/webhooks", { events, url: `${sink.url}/${path}`, secret })
  const happened = async (path: string, count: number) =>
    (await sink.count(`/${path}`, count)).map(({ json }) => json as unknown as Happened)
  const origin = () => ({ headers: { origin: service.url } })

  it("are reported when they are created, changed and deleted, and when people sign in, signed and without secrets", async () => {
    const path = `people-${randomUUID()}`
    const made = await listen(path)
    assert.strictEqual(made.status, 201, made.text)
    const hook = made.json as Record
    assert.deepStrictEqual(
      [hook["table_schema"], hook["table_name"], hook["table_exists"]],
      ["svc", "identities", true]
    )

    const { cookie, email, id, password } = await register(service)
    await happened(path, 2)
    // Nothing is sent of what does not happen.
    assertRefused(await ask(service, "POST /api/auth/register", { body: { email, password } }), 409, "ADDRESS_TAKEN")
    assertRefused(await logIn(service, email, "wrong"), 401, "INVALID_CREDENTIALS")
    await asMember(service, cookie, "PATCH /api/auth/account", { body: { traits: { name: "Ann" } } })
    await happened(path, 3)
    const setup = (await asMember(service, cookie, "POST /api/auth/mfa/totp/setup")).json as Totp
    const body = { flow_id: setup.flow_id, totp_code: totpCode(setup.totp_secret) }
    assert.strictEqual((await asMember(service, cookie, "POST /api/auth/mfa/totp/verify", { body })).status, 200)
    const half = await logIn(service, email, password)
    assertRefused(half, 403, "aal2_required")
    const code = nextTotpCode(setup.totp_secret)
    const whole = await asMember(service, sessionCookie(half), "POST /api/auth/login/factor", {
      body: { method: "totp", code }
    })
    assert.strictEqual(whole.status, 200, whole.text)
    await happened(path, 4)
    await call(`PATCH /api/identities/${id}`, { verified: true, state: "inactive", metadata_public: { plan: "pro" } })
    await happened(path, 5)
    await call(`DELETE /api/identities/${id}`)
    const events = (await happened(path, 6)).toSorted((a, b) => (stampOf(a) < stampOf(b) ? -1 : 1))
    assert.deepStrictEqual(events.map(({ event }) => event).toSorted(), [
      "identity.created",
      "identity.deleted",
      "identity.signed_in",
      "identity.signed_in",
      "identity.updated",
      "identity.updated"
    ])
    const of = (event: string) => events.filter((one) => one.event === event)
    assert.deepStrictEqual(of("identity.created")[0]?.row?.["addresses"], [{ value: email, verified: false }])
    const [named, changed] = of("identity.updated")
    assert.deepStrictEqual(named?.row?.["traits"], { email, name: "Ann" })
    assert.deepInclude(changed?.row, {
      state: "inactive",
      metadata_public: { plan: "pro" },
      addresses: [{ value: email, verified: true }]
    })
    const [first, second] = of("identity.signed_in")
    assert.deepStrictEqual([first?.session?.aal, first?.session?.methods], ["aal1", ["password"]])
    assert.deepStrictEqual([second?.session?.aal, second?.session?.methods], ["aal2", ["password", "totp"]])
    assert.deepStrictEqual([of("identity.deleted")[0]?.row, of("identity.deleted")[0]?.old_row?.id], [null, id])

    const { body: sent, headers } = sink.at(`/${path}`)[0]!
    const signature = createHmac("sha256", "a secret of the hook").update(sent).digest("hex")
    assert.strictEqual(headers["x-svc-signature"], signature)
    const bytes = Buffer.concat(sink.at(`/${path}`).map((one) => one.body)).toString()
    const token = cookie.slice("idp_session=".length)
    for (const secret of [password, token, setup.totp_secret, code, "argon2", "hash", "secret"]) {
      assert.notInclude(bytes, secret)
    }
    // A delivery is logged after its receiver has responded.
    const logged = await until(
      () => logs(hook.id),
      ({ length }) => length >= 6
    )
    assert.strictEqual(logged.length, 6)
    await remove(hook)
  })

  it("are events of their own: without a table, and not beside those of rows", async () => {
    const refused = async (given: object) =>
      assertRefused(await call("POST /api/webhooks", given), 400, "INVALID_REQUEST")
    const url = `${sink.url}/x`
    await refused({ events: ["identity.created", "INSERT"], url })
    await refused({ events: ["identity.created"], table_name: "notes", url })
    await refused({ events: ["identity.stolen"], url })
    await refused({ events: ["INSERT"], url })
    await refused({ events: ["INSERT"], table_schema: "svc", table_name: "identities", url })
    const people = (await listen("none", ["identity.deleted"])).json as Record
    const rows = await create()
    const change = async (id: number, given: object) => (await call(`PATCH /api/webhooks/${id}`, given)).status
    assert.strictEqual(await change(people.id, { events: ["INSERT"] }), 400)
    assert.strictEqual(await change(people.id, { table_schema: "public", table_name: "notes" }), 400)
    assert.strictEqual(await change(rows.id, { events: ["identity.created"] }), 400)
    assert.strictEqual(await change(rows.id, { table_schema: "svc", table_name: "identities" }), 400)
    assert.strictEqual(await change(people.id, { events: ["identity.updated"] }), 200)
    const person = await register(service)
    await asMember(service, person.cookie, "DELETE /api/auth/account", origin())
    assert.strictEqual((await call(`POST /api/webhooks/${people.id}/test`)).status, 200)
    assert.deepStrictEqual(
      (await happened("none", 1)).map(({ event }) => event),
      ["TEST"]
    )
    await remove(people)
    await remove(rows)
  })
})

interface Totp {
  readonly flow_id: string
  readonly totp_secret: string
}
const stampOf = (one: object) => String((one as { readonly timestamp: string }).timestamp)
