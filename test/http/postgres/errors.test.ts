import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { root } from "../../support/service.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({})
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
