import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type SchemaDifference } from "../../../src/domain/branches/schema/SchemaDifference.ts"
import { type MigrationRun } from "../../../src/domain/migrations/Migration.ts"
import { branchSql, makeBranch } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
let id: number
let directory: string

const main = async (...statements: ReadonlyArray<string>) => {
  for (const statement of statements) await sql(service, statement)
}
const there = async (...statements: ReadonlyArray<string>) => {
  for (const statement of statements) await branchSql(service, id, statement)
}
const get = (query = "", branch = id) =>
  ask(service, `GET /api/branches/${branch}/schema-changes${query}`, { key: service.service_role })
const compare = async (query = "") => {
  const reply = await get(query)
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as SchemaDifference
}
const run = (body: object) =>
  ask(service, `POST /api/branches/${id}/schema-changes`, { key: service.service_role, body })
const sqls = ({ statements }: SchemaDifference) => statements.map((one) => one.sql)
const files = async () => (await readdir(directory)).toSorted()

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "migrations-"))
  service = await serveInProcess({ MIGRATIONS_DIR: directory, SVC_SUPABASE: "true" })
  await main(
    "create table people (id int generated always as identity primary key, name text, age int)",
    "insert into people (name, age) values ('Ann', 40)",
    "create view adults as select id, age from people where age >= 18",
    "create type mood as enum ('sad', 'ok')",
    "create table diary (id int primary key, mood mood default 'sad')"
  )
  ;({ id } = await makeBranch(service))
}, 120_000)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

describe("a new branch", () => {
  it("has the main database's schema, in both directions", async () => {
    for (const query of ["", "?to=branch"]) {
      const { destructive, sql, statements, warnings } = await compare(query)
      assert.deepStrictEqual(
        { destructive, sql, statements, warnings },
        { destructive: 0, sql: "", statements: [], warnings: [] }
      )
    }
  })

  it("is compared by administrators only, and may be gone", async () => {
    assertRefused(await ask(service, `GET /api/branches/${id}/schema-changes`, { key: service.anon }), 403)
    assertRefused(await get("", 99_999), 404, "BRANCH_NOT_FOUND")
    assertRefused(await get("?to=elsewhere"), 400)
  })
})

describe("changes of a branch", () => {
  it("are statements for the main database, whose rows stay", async () => {
    await there(
      "drop view adults",
      "alter table people alter age type bigint, alter name set not null, add column born date",
      "create view adults as select id, age from people where age >= 18",
      "create table secrets (id int primary key)",
      "revoke all on secrets from anon, authenticated",
      "create policy mine on people to authenticated using (auth.uid()::text = name)",
      "alter type mood add value 'happy'",
      "alter table diary alter mood set default 'happy'"
    )
    const found = await compare()
    assert.deepStrictEqual(found.warnings, [])
    assert.strictEqual(found.destructive, 0)
    assert.strictEqual(found.transactions, 2)
    assert.strictEqual(found.statements[0]?.sql, `ALTER TYPE "public"."mood" ADD VALUE 'happy' AFTER 'ok';`)
    // The default privileges of the main database would open the table.
    assert.include(sqls(found), 'REVOKE ALL ON TABLE "public"."secrets" FROM "anon";')
    // Whoever runs it owns it: the branch's role is in no statement.
    assert.notMatch(found.sql, /svc_branch_|OWNER TO/)

    const { fingerprint, sql: text } = found
    const before = await files()
    await main("create table meanwhile (id int primary key)")
    const stale = await run({ name: "from_branch", sql: text, fingerprint })
    assertRefused(stale, 409, "SCHEMA_CHANGED")
    assert.deepStrictEqual(await files(), before)
    await main("drop table meanwhile")
    const again = await compare()
    assert.strictEqual(again.fingerprint, fingerprint)

    const done = await run({ name: "from_branch", sql: text, fingerprint })
    assert.strictEqual(done.status, 201, done.text)
    const { ran, summary } = done.json as MigrationRun
    assert.lengthOf(ran, 2)
    assert.match(ran[0] ?? "", /^\d{14}_from_branch_1$/)
    assert.deepInclude(summary, { applied: 2, pending: 0, modified: 0 })
    assert.deepStrictEqual(
      await files(),
      ran.map((name) => `${name}.sql`)
    )
    assert.deepStrictEqual((await compare()).statements, [])
    assert.deepStrictEqual((await compare("?to=branch")).statements, [])
    const rows = await ask(service, "GET /v1/db/people?select=name,age", { key: service.service_role })
    assert.deepStrictEqual(rows.json, [{ name: "Ann", age: 40 }])
    assertRefused(await ask(service, "GET /v1/db/secrets", { key: service.anon }), 401)
  })
})
