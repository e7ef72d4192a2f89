import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role

describe("every response", () => {
  it.each([
    "GET /docs",
    "GET /openapi.json",
    "GET /healthz",
    "GET /v1/status",
    "GET /v1/db/no_such_table",
    "GET /nowhere"
  ])("of %s says that its type must not be guessed", async (line) => {
    const { headers } = await ask(service, line, { key })
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  })
})

describe("an error", () => {
  it("lists at most 20 names of a call", async () => {
    await sql(service, "create or replace function e2e_named(a int) returns int language sql as 'select a'")
    const body = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`argument_${n}`, n]))
    const reply = await ask(service, "POST /v1/db/rpc/e2e_named", { key, body })
    assertRefused(reply, 404, "PGRST202")
    assert.isBelow(reply.text.length, 4_000)
    assert.match(reply.text, /and \d+ more/)
  })

  it("lists at most 20 invalid fields, and repeats no long text", async () => {
    const body = { statements: Array.from({ length: 2_000 }, () => ({ sql: 1 })) }
    const many = await ask(service, "POST /v1/sql/transaction", { key, body })
    assertRefused(many, 400, "INVALID_REQUEST")
    assert.isBelow(many.text.length, 8_000)
    const long = await ask(service, `GET /v1/db/e2e?${"x".repeat(10_000)}=eq.1`, { key })
    assert.isBelow(long.text.length, 40_000)
  })
})

describe("transaction control inside a transaction is the caller's mistake", () => {
  it.each([
    ["discard all", "25001"],
    ["do $$ begin commit; end $$", "2D000"],
    ["do $$ declare n int; begin select 1 into strict n where false; end $$", "P0002"],
    ["select (select generate_series(1, 2))", "21000"]
  ])("%s is 400 %s", async (text, code) => {
    const body = { statements: [{ sql: "select 1" }, { sql: text }] }
    const reply = await ask(service, "POST /v1/sql/transaction", { key, body })
    assertRefused(reply, 400, code)
    assert.include(reply.text, '"statement_index":1')
  })
})
