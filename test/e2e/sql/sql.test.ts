import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role
const run = (body: unknown) => ask(service, "POST /v1/sql", { key, body })
const transaction = (statements: unknown, options = {}) =>
  ask(service, "POST /v1/sql/transaction", { key, body: { statements, ...options } })

it("keeps escaped names in parameters, whatever others have sent before", async () => {
  const keyOf = async (name: string) => {
    const headers = { apikey: service.service_role, "content-type": "application/json" }
    const body = `{"sql":"select $1::json as sent","params":[{"first":1,"${name}":1}]}`
    const reply = await fetch(`${service.url}/v1/sql`, { method: "POST", headers, body })
    assert.strictEqual(reply.status, 200)
    const { rows } = (await reply.json()) as { readonly rows: ReadonlyArray<{ readonly sent: object }> }
    return Object.keys(rows[0]?.sent ?? {})[1]
  }
  assert.strictEqual(await keyOf(String.raw`\\`), "\\")
  assert.strictEqual(await keyOf(String.raw`\u0041`), "A")
  assert.strictEqual(await keyOf(String.raw`\"`), '"')
})

describe("/v1/sql", () => {
  it("returns rows, columns with their types, and the command", async () => {
    const reply = await run({
      sql: "select $1::int8 as big, $2::text as t, $3::jsonb as j, now() at time zone 'utc' is not null as b",
      params: ["9007199254740993", "ä", { a: [1] }]
    })
    assert.deepStrictEqual(reply.json, {
      rows: [{ big: "9007199254740993", t: "ä", j: { a: [1] }, b: true }],
      rowCount: 1,
      columns: [
        { name: "big", type: "bigint", oid: 20 },
        { name: "t", type: "text", oid: 25 },
        { name: "j", type: "jsonb", oid: 3802 },
        { name: "b", type: "boolean", oid: 16 }
      ],
      command: "SELECT",
      truncated: false
    })
  })

  it("stops at row_limit and sets truncated", async () => {
    const reply = await run({ sql: "select generate_series(1, 100000000) as n", row_limit: 2 })
    assert.deepInclude(reply.json, { rows: [{ n: 1 }, { n: 2 }], truncated: true })
    for (const row_limit of [0, 10_001]) assertRefused(await run({ sql: "select 1", row_limit }), 400, "SQL_ROW_LIMIT")
    const wrong = await run({ sql: "select 1", params: null, row_limit: null, timeout: "1", read_only: 1 })
    assertRefused(wrong, 400, "INVALID_REQUEST")
    assert.notMatch(wrong.text, /undefined/)
    assert.include(wrong.text, "row_limit: Expected number")
  })

  it("reads the options of a text with numbers of many digits", async () => {
    const reply = await run({ sql: "select 1e3 as a, 12345678901234567890 as b", row_limit: 5, timeout: 5000 })
    assert.deepInclude(reply.json, { rows: [{ a: "1000", b: "12345678901234567890" }] }, reply.text)
  })

  it("returns the position of an error in the text", async () => {
    assert.deepInclude(assertRefused(await run({ sql: "selec 1" }), 400, "42601"), { position: 1 })
    assertRefused(await run({ sql: "select * from nowhere" }), 404, "42P01")
    assertRefused(await run({ sql: "select 1/0" }), 400, "22012")
  })

  it.each(["select 1; select 2", "begin", "copy t from stdin", "listen x"])("rejects %s", async (text) => {
    assertRefused(await run({ sql: text }), 400)
  })

  it("describes what is invalid in the body", async () => {
    assert.deepStrictEqual(assertRefused(await run({}), 400)["details"], ["sql: Missing key"])
    assert.match(String(assertRefused(await run([]), 400)["details"]), /^Expected object/)
    assert.match(String(assertRefused(await run({ sql: "select 1", params: 1 }), 400)["details"]), /^params: /)
  })

  it("creates and changes tables, which /v1/db serves immediately", async () => {
    const read = async () => (await ask(service, "GET /v1/db/e2e_fresh", { key })).json
    await sql(service, "create table e2e_fresh (id int primary key)")
    assert.deepStrictEqual(await read(), [])
    await sql(service, "alter table e2e_fresh add column note text default 'new'")
    await sql(service, "insert into e2e_fresh values (1)")
    assert.deepStrictEqual(await read(), [{ id: 1, note: "new" }])
    await sql(service, "drop table e2e_fresh")
    assertRefused(await ask(service, "GET /v1/db/e2e_fresh", { key }), 404, "PGRST205")
  })
})

describe("/v1/sql/transaction", () => {
  it("runs all statements in one transaction", async () => {
    const reply = await transaction([
      { sql: "create table e2e_ledger (account text, amount int check (amount >= 0))" },
      { sql: "insert into e2e_ledger values ($1, $2)", params: ["a", 10] },
      { sql: "select count(*)::int as n from e2e_ledger" }
    ])
    const { results } = reply.json as { results: Array<{ rows: Array<unknown>; command: string }> }
    assert.deepStrictEqual(
      results.map(({ command }) => command),
      ["CREATE TABLE", "INSERT", "SELECT"]
    )
    assert.deepStrictEqual(results[2]?.rows, [{ n: 1 }])
  })

  it("rolls back all if one fails, and reports which", async () => {
    const reply = await transaction([
      { sql: "insert into e2e_ledger values ('b', 1)" },
      { sql: "insert into e2e_ledger values ('c', -1)" }
    ])
    assert.deepInclude(assertRefused(reply, 400, "23514"), { statement_index: 1 })
    assert.deepStrictEqual(await sql(service, "select account from e2e_ledger"), [{ account: "a" }])
  })

  it("accepts 1 to 20 statements", async () => {
    const many = (length: number) => transaction(Array.from({ length }, () => ({ sql: "select 1" })))
    assert.strictEqual((await many(20)).status, 200)
    assertRefused(await many(0), 400, "SQL_STATEMENT_COUNT")
    assertRefused(await many(21), 400, "SQL_STATEMENT_COUNT")
    assert.match(String(assertRefused(await transaction([{}]), 400)["details"]), /^statements\.0\.sql: /)
  })
})

describe("read_only", () => {
  it.each([
    ["a write", "insert into e2e_kept values (2)"],
    ["a write in a CTE", "with x as (delete from e2e_kept returning 1) select count(*) from x"],
    ["a function that writes", "select e2e_write()"],
    ["a sequence", "select nextval('e2e_numbers')"],
    ["DDL", "create table e2e_never (id int)"]
  ])("refuses %s, in a statement and in a transaction", async (_, text) => {
    await sql(service, "create table if not exists e2e_kept (id int)")
    await sql(service, "create sequence if not exists e2e_numbers")
    await sql(
      service,
      "create or replace function e2e_write() returns void language sql as 'insert into public.e2e_kept values (3)'"
    )
    assertRefused(await run({ sql: text, read_only: true }), 405, "25006")
    for (const timeout of [undefined, 5000]) {
      const reply = await transaction([{ sql: text }], { read_only: true, timeout })
      assert.deepInclude(assertRefused(reply, 405, "25006"), { statement_index: 0 })
    }
    assert.deepStrictEqual(await sql(service, "select * from e2e_kept"), [])
  })

  it.each([
    "set transaction read write",
    "set transaction_read_only = off",
    "select set_config('transaction_read_only', 'off', true)"
  ])("can't be undone by %s", async (text) => {
    const reply = await transaction([{ sql: text }, { sql: "create table e2e_escaped (id int)" }], { read_only: true })
    assert.include(["25001", "25006"], (reply.json as { code: string }).code, reply.text)
    assert.deepStrictEqual(await sql(service, "select to_regclass('e2e_escaped') as t"), [{ t: null }])
  })

  it("reads, and leaves nothing in the connection", async () => {
    assert.deepInclude((await run({ sql: "select 1 as n", read_only: true })).json, { rows: [{ n: 1 }] })
    // The names of types that the service does not know are looked up after the statement.
    await sql(service, "create type e2e_mood as enum ('good')")
    const mood = await run({ sql: "select 'good'::e2e_mood as m", read_only: true, timeout: 5000 })
    assert.deepInclude(mood.json, { rows: [{ m: "good" }] }, mood.text)
    await sql(service, "create table e2e_after (id int)")
    await sql(service, "drop table e2e_after")
  })

  it("is not ignored when misspelt", async () => {
    assert.include(String(assertRefused(await run({ sql: "select 1", readonly: true }), 400)["details"]), "readonly")
    assert.include(
      String(assertRefused(await transaction([{ sql: "select 1" }], { readOnly: true }), 400)["details"]),
      "readOnly"
    )
  })
})

describe("timeout", () => {
  it.each([{}, { read_only: true }])("ends a statement, with %j", async (options) => {
    const begun = performance.now()
    assertRefused(await run({ sql: "select pg_sleep(20)", timeout: 50, ...options }), 504, "57014")
    const reply = await transaction([{ sql: "select 1" }, { sql: "select pg_sleep(20)" }], { timeout: 50, ...options })
    assert.deepInclude(assertRefused(reply, 504, "57014"), { statement_index: 1 })
    assert.isBelow(performance.now() - begun, 10_000)
    assert.deepStrictEqual(await sql(service, "show statement_timeout"), [{ statement_timeout: "30s" }])
  })

  it("must be 1 to 600000 ms", async () => {
    for (const timeout of [0, 600_001]) {
      assertRefused(await run({ sql: "select 1", timeout }), 400, "SQL_TIMEOUT")
      assertRefused(await transaction([{ sql: "select 1" }], { timeout }), 400, "SQL_TIMEOUT")
    }
    assert.strictEqual((await run({ sql: "select 1", timeout: 600_000 })).status, 200)
  })
})

it("row_limit applies to each statement of a transaction", async () => {
  const reply = await transaction([{ sql: "select generate_series(1, 2000)" }, { sql: "select 1" }], {
    row_limit: 1500
  })
  const { results } = reply.json as { results: ReadonlyArray<{ rows: ReadonlyArray<unknown>; truncated: boolean }> }
  assert.deepStrictEqual(
    results.map(({ rows, truncated }) => [rows.length, truncated]),
    [
      [1500, true],
      [1, false]
    ]
  )
  assertRefused(await transaction([{ sql: "select 1" }], { row_limit: 0 }), 400, "SQL_ROW_LIMIT")
})
