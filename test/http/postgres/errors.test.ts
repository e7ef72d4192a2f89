import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { root, until } from "../../support/service.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_DB_SCHEMAS: "public,shop" })
})
afterAll(() => service[Symbol.asyncDispose]())

describe("a schema that was dropped and created again", () => {
  it("is closed to callers, with a hint at what opens it", async () => {
    await sql(service, "drop schema public cascade")
    await sql(service, "create schema public")
    await sql(service, "create table notes (id int)")
    const refused = assertRefused(await ask(service, "GET /v1/db/notes", { key: service.anon }), 401, "42501")
    assert.strictEqual(refused["error"], "permission denied for schema public")
    assert.match(String(refused["hint"]), /grant usage on schema public to anon, authenticated.*row-level-security\.md/)
  })

  it("is open again with the statements of the documentation, also for later tables", async () => {
    const docs = await readFile(join(root, "docs/row-level-security.md"), "utf8")
    const [, statements = ""] = /drop schema public cascade.*?```sql\n(.*?)```/s.exec(docs) ?? []
    for (const statement of statements.split(/;\n/).filter((text) => text.trim() !== "")) await sql(service, statement)
    await sql(service, "create table later (id int)")
    for (const table of ["notes", "later"]) {
      assert.deepStrictEqual((await ask(service, `GET /v1/db/${table}`, { key: service.anon })).json, [])
    }
  })
})

describe("a schema of SVC_DB_SCHEMAS that is created while the service runs", () => {
  const read = (table: string) =>
    ask(service, `GET /v1/db/${table}`, { key: service.anon, headers: { "accept-profile": "shop" } })

  it("is open to callers without a restart, with the tables it was created with", async () => {
    const made = await ask(service, "POST /v1/sql/transaction", {
      key: service.service_role,
      body: { statements: [{ sql: "create schema shop" }, { sql: "create table shop.items (id serial)" }] }
    })
    assert.strictEqual(made.status, 200)
    assert.deepStrictEqual(
      (
        await until(
          () => read("items"),
          ({ status }) => status === 200
        )
      ).json,
      []
    )
    await sql(service, "create table shop.later (id serial)")
    assert.deepStrictEqual((await read("later")).json, [])
    // The sequence is open, too.
    const written = await ask(service, "POST /v1/db/items", {
      key: service.anon,
      headers: { "content-profile": "shop" },
      body: {}
    })
    assert.strictEqual(written.status, 201)
  })
})

it("an SQLSTATE of an outage that a function raises is the function's", async () => {
  await sql(
    service,
    "create function refuse(state text) returns int language plpgsql as $$ begin raise exception using errcode = state; end $$"
  )
  for (const [state, status] of [
    ["28000", 403],
    ["57P01", 503],
    ["53300", 503],
    ["3D000", 400]
  ] as const) {
    const reply = await ask(service, "POST /v1/db/rpc/refuse", { key: service.anon, body: { state } })
    assertRefused(reply, status, state)
  }
})
