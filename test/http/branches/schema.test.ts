import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type SchemaDifference } from "../../../src/domain/branches/schema/SchemaDifference.ts"
import { type MigrationRun, type SavedMigration } from "../../../src/domain/migrations/Migration.ts"
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
    // The role that runs it is the owner: the branch's role is in no statement.
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

describe("a migration", () => {
  const add = (body: object) => ask(service, "POST /api/migrations", { key: service.service_role, body })

  it("is saved after all others, and runs with them", async () => {
    const before = await files()
    const reply = await add({ name: "later", sql: "create table later (id int primary key)" })
    assert.strictEqual(reply.status, 201, reply.text)
    const { saved, summary } = reply.json as SavedMigration
    assert.match(saved[0] ?? "", /^\d{14}_later$/)
    assert.deepStrictEqual(await files(), [...before, `${saved[0]}.sql`])
    assert.strictEqual(summary.pending, 1)
    // Another one that is run at once would come after it.
    assertRefused(await run({ name: "soon", sql: "select 1", fingerprint: null }), 409, "MIGRATIONS_PENDING")
    const done = await ask(service, "POST /api/migrations/idempotent/run", { key: service.service_role, body: {} })
    assert.deepStrictEqual((done.json as MigrationRun).ran, saved)
    assert.lengthOf(await files(), before.length + 1)
  })

  it("has a name and a text, and is for administrators", async () => {
    for (const name of ["", "../up", "a/b", ".hidden", "a b", "x".repeat(81), "ü", "a\0"]) {
      assertRefused(await add({ name, sql: "select 1" }), 400)
    }
    for (const text of ["", "select '\0'", "x".repeat(900_001)])
      assertRefused(await add({ name: "fine", sql: text }), 400)
    const anon = await ask(service, "POST /api/migrations", { key: service.anon, body: { name: "x", sql: "select 1" } })
    assertRefused(anon, 403)
  })

  it("that fails when it is run leaves no file, and nothing in the database", async () => {
    const before = await files()
    const failing = "create table half (id int);\nselect 1 / 0;"
    const failed = await run({ name: "fails", sql: failing, fingerprint: null })
    assertRefused(failed, 422, "MIGRATION_FAILED")
    assert.deepInclude((failed.json as { readonly details: object }).details, { line: 2 })
    for (const text of ["begin; select 1; commit; select 2", "-- svc: no transaction\nselect 1", "commit"]) {
      assertRefused(await run({ name: "ends", sql: text, fingerprint: null }), 422, "MIGRATION_NOT_ATOMIC")
    }
    assertRefused(await run({ name: "x", sql: "select 1", fingerprint: "0" }), 409, "SCHEMA_CHANGED")
    assert.deepStrictEqual(await files(), before)
    const [{ there: half } = {}] = await sql(service, "select to_regclass('half') is not null as there")
    assert.isFalse(half)
    // The first part stays, with its file.
    const parts = "create table first_part (id int);\n-- svc: new transaction\nselect 1 / 0;"
    assertRefused(await run({ name: "parts", sql: parts, fingerprint: null }), 422, "MIGRATION_FAILED")
    assert.match((await files()).at(-1) ?? "", /_parts_1[.]sql$/)
    await main("drop table first_part")
  })

  it("of a directory that can't be written to is refused", async () => {
    const blocked = join(directory, "file")
    await writeFile(blocked, "")
    const other = await serveInProcess({ MIGRATIONS_DIR: join(blocked, "inside") })
    try {
      const reply = await ask(other, "POST /api/migrations", {
        key: other.service_role,
        body: { name: "x", sql: "select 1" }
      })
      assertRefused(reply, 422)
    } finally {
      await other[Symbol.asyncDispose]()
      await rm(blocked)
    }
  })
})

describe("an attack", () => {
  it("by names that stand for SQL changes nothing but what it names", async () => {
    const odd = `"x'; drop table people; -- \n \\ $$ "" ü"`
    await there(
      `create schema ${odd}`,
      `create table ${odd}.${odd} (${odd} int primary key, "a""" text default 'it''s; $$')`,
      `comment on table ${odd}.${odd} is e'x\n; drop table people; --'`
    )
    const found = await compare()
    const reply = await run({ name: "odd", sql: found.sql, fingerprint: found.fingerprint })
    assert.strictEqual(reply.status, 201, reply.text)
    assert.deepStrictEqual((await compare()).statements, [])
    assert.lengthOf(await sql(service, "select from people"), 1)
  })

  it("by functions with the names of PostgreSQL's own, on the path of the branch, reads nothing else", async () => {
    const [{ name: database } = {}] = await branchSql(service, id, "select current_database() as name")
    await there(
      "create function public.format_type(oid, int) returns text language sql as $$ select 'taken' $$",
      "create function public.quote_ident(text) returns text language sql as $$ select 'taken' $$",
      "create view public.pg_class as select 1 as oid"
    )
    await main(`alter database ${String(database)} set search_path = public, pg_catalog`)
    const { sql: text } = await compare()
    assert.include(text, "CREATE OR REPLACE FUNCTION public.quote_ident(text)")
    assert.notInclude(text, "taken.")
    await there("drop function public.format_type(oid, int), public.quote_ident(text)", "drop view public.pg_class")
  })

  it("by policies and triggers on the service's tables compares those, and not the tables", async () => {
    await there(
      "create policy mine on storage.objects for select using (true)",
      "create function welcome() returns trigger language plpgsql as 'begin return new; end'",
      "create trigger welcome after insert on auth.users for each row execute function welcome()",
      "alter table auth.users add column extra text"
    )
    const { statements } = await compare()
    assert.deepStrictEqual(Array.from(new Set(statements.map(({ kind, object }) => `${kind} ${object}`))).toSorted(), [
      "function public.welcome()",
      "grant public.welcome()",
      "policy storage.objects.mine",
      "trigger auth.users.welcome"
    ])
  })

  it("by a branch that is dropped meanwhile ends with an error of ours", async () => {
    const { id: gone } = await makeBranch(service, "to be dropped")
    const compared = Array.from({ length: 4 }, () => get("", gone))
    const dropped = await ask(service, `DELETE /api/branches/${gone}`, { key: service.service_role })
    assert.strictEqual(dropped.status, 200, dropped.text)
    for (const { status, text } of await Promise.all(compared)) {
      assert.include([200, 404, 409, 422, 503], status, text)
    }
    assertRefused(await get("", gone), 404, "BRANCH_NOT_FOUND")
  })
})
