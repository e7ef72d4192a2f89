import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { asLogin, branchSql, hammer, makeBranch, onBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { startReceiver } from "../../support/webhooks/receiver.ts"
import { root, type Service, startService, until } from "../../support/service.ts"

let service: Service
beforeAll(async () => {
  service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: "true" } })
  await sql(service, "create table notes (id int generated always as identity primary key, text text)")
  await sql(service, "insert into notes (text) values ('one'), ('two')")
  await sql(service, "create function twice(n int) returns int language sql as 'select n * 2'")
})
afterAll(async () => {
  endFeeds()
  await service[Symbol.asyncDispose]()
})

const call = (line: string, body?: unknown) =>
  ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })
const listed = async () => (await call("GET /api/branches")).json as Array<Record<string, unknown>>
const databases = async () =>
  (await sql(service, `select datname from pg_database where datname like 'svc\\_branch\\_%' order by 1`)).map(
    ({ datname }) => datname
  )
const roles = () => sql(service, `select rolname from pg_roles where rolname like 'svc\\_branch\\_%'`)

describe("a branch", () => {
  it("is a record with a connection string whose password is shown once", async () => {
    const label = "🌿".repeat(60)
    const made = await makeBranch(service, label, { ttlHours: 24 })
    assert.hasAllKeys(made, [
      "id",
      "label",
      "database_name",
      "size_bytes",
      "created_at",
      "ttl_hours",
      "expires_at",
      "status",
      "access",
      "source_backup_id",
      "objects_at",
      "progress",
      "connection"
    ])
    assert.deepInclude(made, { label, status: "active", access: "service_role", source_backup_id: null })
    assert.strictEqual(Date.parse(made.expires_at ?? "") - Date.parse(made.created_at), 24 * 3_600_000)
    assert.isAbove(made.size_bytes, 1_000_000)
    const masked = { ...made, connection: made.connection.replace(/:[^:@]+@/, ":****@") }
    assert.notStrictEqual(masked.connection, made.connection)
    assert.deepStrictEqual((await call(`GET /api/branches/${made.id}`)).json, masked)
    assert.deepInclude(await listed(), masked)
    assert.isNull((await makeBranch(service, label)).expires_at, "labels may be the same; 0 is for ever")
  })

  it("serves every database route of /v1 with the same keys, if it is open to them", async () => {
    const { database_name, id } = await makeBranch(service, "open", { access: "clients" })
    const written = await onBranch(service, id, "POST /v1/db/notes", { text: "in the branch" })
    assert.strictEqual(written.status, 201, written.text)
    const read = (await onBranch(service, id, "GET /v1/db/notes?select=text", undefined, service.anon)).json
    assert.deepStrictEqual(read, [{ text: "one" }, { text: "two" }, { text: "in the branch" }])
    assert.strictEqual((await onBranch(service, id, "PATCH /v1/db/notes?id=eq.1", { text: "1" })).status, 200)
    assert.strictEqual((await onBranch(service, id, "DELETE /v1/db/notes?id=eq.2")).status, 200)
    assert.strictEqual((await onBranch(service, id, "POST /v1/db/rpc/twice", { n: 4 })).text, "8")
    assert.deepStrictEqual(await branchSql(service, id, "select current_database() as d"), [{ d: database_name }])
    const statements = [
      { sql: "create table only_here (id int primary key)" },
      { sql: "insert into only_here values (1)" }
    ]
    assert.strictEqual((await onBranch(service, id, "POST /v1/sql/transaction", { statements })).status, 200)
    assert.strictEqual(
      (await onBranch(service, id, "GET /v1/db/only_here", undefined, service.anon)).text,
      '[{"id":1}]'
    )
    assert.include((await onBranch(service, id, "GET /v1/database/schema")).text, "only_here")

    assert.deepStrictEqual((await call("GET /v1/db/notes?select=text&id=lt.3")).json, [
      { text: "one" },
      { text: "two" }
    ])
    assertRefused(await call("GET /v1/db/only_here"), 404, "PGRST205")
    assert.notInclude((await call("GET /v1/database/schema")).text, "only_here")
  })

  it("reflects DDL by any client immediately", async () => {
    const { connection, id } = await makeBranch(service)
    assert.strictEqual((await onBranch(service, id, "GET /v1/db/notes?limit=1")).status, 200)
    await asLogin(connection, "alter table notes add column more int default 7")
    const more = await until(
      () => onBranch(service, id, "GET /v1/db/notes?limit=1"),
      ({ text }) => text.includes("more")
    )
    assert.strictEqual((more.json as Array<{ more: number }>)[0]?.more, 7)
    await branchSql(service, id, "alter table notes rename column more to less")
    assert.include((await onBranch(service, id, "GET /v1/db/notes?limit=1")).text, "less")
  })

  it("has changes of its schema, which svc diff prints as a migration", async () => {
    const { id } = await makeBranch(service)
    await branchSql(service, id, "alter table notes add column read_at timestamptz")
    const diff = (...args: ReadonlyArray<string>) =>
      promisify(execFile)(process.execPath, ["dist/svc.mjs", "diff", String(id), "--url", service.url, ...args], {
        cwd: root,
        env: { PATH: process.env["PATH"] ?? "", SVC_SERVICE_KEY: service.service_role }
      })
    const { stdout } = await diff()
    assert.include(stdout, 'ALTER TABLE "public"."notes" ADD COLUMN "read_at" timestamp with time zone;')
    const back = JSON.parse((await diff("--to", "branch", "--json")).stdout) as { readonly destructive: number }
    assert.strictEqual(back.destructive, 1)
  })

  it("is rejected for an invalid or unknown id", async () => {
    for (const body of [
      {},
      { label: "" },
      { label: "x".repeat(61) },
      { label: "🌿".repeat(61) },
      { label: "nul\0" },
      { label: 7 },
      { label: "a", ttlHours: -1 },
      { label: "a", ttlHours: 8761 },
      { label: "a", ttlHours: 1.5 },
      { label: "a", ttlHours: "1" },
      { label: "a", access: "anon" },
      { label: "a", access: null }
    ]) {
      assertRefused(await call("POST /api/branches", body), 400, "INVALID_REQUEST")
    }
    const anon = await ask(service, "POST /api/branches", { key: service.anon, body: { label: "a" } })
    assertRefused(anon, 403, "FORBIDDEN")
    for (const id of ["987654", "0", "-1", "99999999999"]) {
      assertRefused(await call(`GET /api/branches/${id}`), 404, "BRANCH_NOT_FOUND")
      assertRefused(await call(`DELETE /api/branches/${id}`), 404, "BRANCH_NOT_FOUND")
      assertRefused(await call(`PATCH /api/branches/${id}`, { ttlHours: 1 }), 404, "BRANCH_NOT_FOUND")
    }
    const routes = ["GET /v1/db/notes", "POST /v1/db/rpc/twice", "POST /v1/sql", "POST /v1/sql/transaction"]
    for (const line of [...routes, "GET /v1/database/schema"]) {
      const body = line.startsWith("POST") ? { sql: "select 1", statements: [{ sql: "select 1" }] } : undefined
      for (const value of ["", "one", "0", "-1", "1.0", "1e1", "99999999999", "1, 2"]) {
        const headers = { "x-svc-branch": value }
        const reply = await ask(service, line, { key: service.service_role, headers, body })
        assertRefused(reply, 400, "INVALID_REQUEST")
      }
      assertRefused(await onBranch(service, 987_654 as never, line, body), 404, "BRANCH_NOT_FOUND")
    }
  })
})

describe("the login of a branch", () => {
  it("owns everything in it, and has no access elsewhere", async () => {
    await sql(service, "create schema app")
    await sql(service, `create type app.mood as enum ('good', 'bad')`)
    await sql(service, `create table app."odd ""name" (id serial, m app.mood, e int default 3)`)
    await sql(service, `create view app.looking as select 1 as n`)
    await sql(service, `create function app.plus(a int, b int) returns int language sql as 'select a + b'`)
    await sql(service, "create policy any_row on notes using (true)")
    const [first, second] = [await makeBranch(service), await makeBranch(service)]
    const done = await asLogin(
      first.connection,
      "alter table notes add column extra int",
      "drop policy any_row on notes",
      "insert into notes (text) values ('mine')",
      `alter table app."odd ""name" drop column e`,
      `insert into app."odd ""name" (m) values ('good')`,
      `alter type app.mood add value 'so so'`,
      "drop view app.looking",
      "drop function app.plus",
      "create table app.more (id int)",
      "drop table app.more",
      "create schema another",
      "create extension if not exists pg_trgm",
      "drop table notes cascade",
      "select current_user as me"
    )
    assert.deepStrictEqual(done, [{ me: first.database_name }])
    assert.deepStrictEqual((await call("GET /v1/db/notes?select=id&limit=1")).json, [{ id: 1 }])

    for (const elsewhere of ["postgres", second.database_name, "template1"]) {
      assert.match(String(await asLogin(toDatabase(first.connection, elsewhere), "select 1")), /^42501 /, elsewhere)
    }
    for (const beyond of [
      "create role another",
      "alter system set work_mem = '1MB'",
      `copy (select 1) to program 'true'`,
      "create database mine",
      "set role postgres",
      "drop event trigger svc_ddl",
      "select * from pg_authid",
      "select pg_read_file('postgresql.conf')"
    ]) {
      assert.match(String(await asLogin(first.connection, beyond)), /^(42501|42704)/, beyond)
    }
  })

  it("gains no privileges from code that service keys run, nor from the service's objects in the copy", async () => {
    const { connection, id, database_name } = await makeBranch(service)
    await asLogin(
      connection,
      "create table bait (id int)",
      `create function bite() returns trigger language plpgsql as $$ begin
         create temp table if not exists told (who text, super text);
         execute 'set local role none';
         raise exception '% %', session_user, current_setting('is_superuser');
       end $$`,
      "create trigger bite before insert on bait for each row execute function bite()"
    )
    const bitten = await onBranch(service, id, "POST /v1/sql", { sql: "insert into bait values (1)" })
    assert.include(bitten.text, `${database_name}_keys off`)
    const ours = await asLogin(connection, `select nspname from pg_namespace where nspname = 'svc'`)
    assert.deepStrictEqual(ours, [])
    assert.strictEqual((await onBranch(service, id, "POST /v1/sql", { sql: "select * from svc.api_keys" })).status, 404)
  })

  it("is terminated when the branch is dropped, and its roles are dropped", async () => {
    const { connection, database_name, id } = await makeBranch(service)
    const client = new Client({ connectionString: connection })
    const ended = new Promise<string>((done) => client.on("error", (cause) => done(cause.message)))
    await client.connect()
    await client.query("begin; lock table notes")
    const reply = await call(`DELETE /api/branches/${id}`)
    assert.deepStrictEqual([reply.status, reply.json], [200, { success: true }])
    assert.match(await ended, /terminat/)
    assertRefused(await call(`DELETE /api/branches/${id}`), 404, "BRANCH_NOT_FOUND")
    assertRefused(await onBranch(service, id, "GET /v1/db/notes"), 404, "BRANCH_NOT_FOUND")
    assert.notInclude(await databases(), database_name)
    assert.notInclude(JSON.stringify(await roles()), database_name)
  })
})

describe("creating branches", () => {
  it("makes no request fail under load, two at a time", async () => {
    await sql(service, "create table load (id int, text text)")
    await sql(service, "insert into load select n, repeat('x', 500) from generate_series(1, 200000) n")
    const clients = hammer([service])
    await until(
      async () => clients.answers(),
      (answers) => answers > 200
    )
    const made = await Promise.all([makeBranch(service, "left"), makeBranch(service, "right")])
    const before = clients.answers()
    await until(
      async () => clients.answers(),
      (answers) => answers > before + 200
    )
    const { failures, longest } = await clients.stop()
    assert.deepStrictEqual(failures, [])
    assert.isBelow(longest, 20_000)
    for (const { id } of made) {
      assert.deepStrictEqual(await branchSql(service, id, "select count(*)::int as n from load"), [{ n: 200_000 }])
    }
    await sql(service, "drop table load")
  })

  it("is rejected, without failing requests, when a statement runs for too long", async () => {
    const clients = hammer([service], 4)
    const long = ask(service, "POST /v1/sql", { key: service.service_role, body: { sql: "select pg_sleep(14)" } })
    await sleep(200)
    assertRefused(await call("POST /api/branches", { label: "never" }), 503, "BRANCH_SOURCE_BUSY")
    const { failures, longest } = await clients.stop()
    assert.deepStrictEqual(failures, [])
    assert.isBelow(longest, 13_000)
    assert.strictEqual((await long).status, 200)
  })

  it("sends no events of writes to a branch, but still those of the main database", async () => {
    await using sink = await startReceiver()
    const hook = { table_name: "notes", events: ["INSERT"], url: `${sink.url}/hook` }
    assert.strictEqual((await call("POST /api/webhooks", hook)).status, 201)
    await subscribe(service, "notes")
    const feed = await openFeed(service, { key: service.service_role })
    const { id } = await makeBranch(service)
    assert.strictEqual((await onBranch(service, id, "POST /v1/db/notes", { text: "quiet" })).status, 201)
    const triggers = "select count(*)::int as n from pg_trigger where not tgisinternal and tgname like 'svc%'"
    assert.deepStrictEqual(await branchSql(service, id, triggers), [{ n: 0 }])
    assert.strictEqual((await call("POST /v1/db/notes", { text: "loud" })).status, 201)
    const events = await feed.upTo(({ row }) => row?.["text"] === "loud")
    assert.notInclude(JSON.stringify(events), "quiet")
    const [delivered] = await sink.count("/hook", 1)
    assert.strictEqual(delivered?.json.row?.["text"], "loud")
    await sleep(500)
    assert.strictEqual(sink.received.length, 1)
  })

  it("changes the label and the expiry, also of a branch that is in use", async () => {
    const { id } = await makeBranch(service, "before", { ttlHours: 1 })
    const change = (body: unknown) => call(`PATCH /api/branches/${id}`, body)
    const hoursLeft = (branch: unknown) => (Date.parse(String((branch as Branch).expires_at)) - Date.now()) / 3_600_000
    const renamed = (await change({ label: "after ü" })).json as Branch
    assert.deepInclude(renamed, { label: "after ü", ttl_hours: 1, access: "service_role" })
    const longer = (await change({ ttlHours: 48 })).json as Branch
    assert.deepInclude(longer, { label: "after ü", ttl_hours: 48 })
    assert.approximately(hoursLeft(longer), 48, 0.1)
    const read = await onBranch(service, id, "GET /v1/db/notes?limit=1")
    assert.strictEqual(read.status, 200, service.output().slice(-2000))
    assert.deepInclude((await change({ ttlHours: 0 })).json, { ttl_hours: 0, expires_at: null })
    // The record that was read may be sent back.
    const { connection: _, ...record } = (await call(`GET /api/branches/${id}`)).json as Branch
    assert.deepInclude((await change({ ...record, label: "again" })).json, { label: "again", expires_at: null })
    for (const body of [
      {},
      { label: "" },
      { label: "x".repeat(61) },
      { label: "🌿".repeat(61) },
      { ttlHours: -1 },
      { ttlHours: 8761 },
      { ttl: 1 }
    ]) {
      assertRefused(await change(body), 400, "INVALID_REQUEST")
    }
    assert.strictEqual((await call(`DELETE /api/branches/${id}`)).status, 200)
  })

  it("drops expired branches, which disappear immediately", async () => {
    const { connection, database_name, id } = await makeBranch(service, "short", { ttlHours: 1 })
    assert.strictEqual((await onBranch(service, id, "GET /v1/db/notes?limit=1")).status, 200)
    await sql(service, "update svc.branches set expires_at = now() + interval '1 second' where id = $1", [id])
    await sleep(1_100)
    assertRefused(await onBranch(service, id, "GET /v1/db/notes?limit=1"), 404, "BRANCH_NOT_FOUND")
    assertRefused(await call(`GET /api/branches/${id}`), 404, "BRANCH_NOT_FOUND")
    assert.notInclude(JSON.stringify(await listed()), database_name)
    const left = await until(databases, (names) => !names.includes(database_name), 30_000)
    assert.notInclude(left, database_name)
    assert.match(String(await asLogin(connection, "select 1")), /^(28P01|28000|3D000)/)
    // Its record is deleted last.
    const rows = await until(
      () => sql(service, "select from svc.branches where id = $1", [id]),
      ({ length }) => length === 0
    )
    assert.deepStrictEqual(rows, [])
  })
})
