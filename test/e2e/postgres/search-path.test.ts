import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { afterAll, assert, beforeAll, inject, it } from "vitest"
import { backUp, backupOver } from "../../support/backups/calls.ts"
import { asLogin, makeBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { writeFiles } from "../../support/migrations/directory.ts"
import { overloadsSql } from "../../support/postgres/overloads.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { startService, until } from "../../support/service.ts"

const server = inject("databaseUrl")
const database = `overloaded_${process.pid}`
const role = `lesser_${process.pid}`
const directory = await makeDataDir()

const on = async (url: string, ...statements: ReadonlyArray<string>) => {
  const done = await asLogin(url, ...statements)
  if (typeof done === "string") throw new Error(done)
  return done
}
const here = toDatabase(server, database)

beforeAll(() => on(server, `create database ${database}`, `create role ${role} bypassrls createrole`))
afterAll(async () => {
  endFeeds()
  await on(here, `drop owned by ${role}`)
  await on(server, `drop database ${database} with (force)`, `drop role ${role}`)
  await removeDataDir(directory)
})

it("no function, aggregate or operator that the service role made runs as the database login", async () => {
  await on(here, `grant all on schema public to ${role}`, `grant create on database ${database} to ${role}`)
  await on(here, `set role ${role}; ${await overloadsSql()}`)
  const env = {
    DATABASE_URL: here,
    SVC_SERVICE_ROLE: role,
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    SVC_BACKUP_DIR: join(directory, "backups"),
    MIGRATIONS_DIR: join(directory, "migrations")
  }
  await using service = await startService({ env })
  const call = async (line: string, body?: unknown, most = 299) => {
    const key = service.service_role
    const reply = await ask(service, line, { key, ...(body === undefined ? {} : { body }) })
    assert.isAtMost(reply.status, most, `${line}: ${reply.text}`)
    return reply
  }
  await on(
    here,
    `set role ${role}; create table public.notes (id int primary key, text text); grant select on public.notes to anon`
  )

  await call("POST /api/keys", { keyType: "anon" })
  await call("GET /v1/keys")
  await call("GET /v1/status")
  const tables = await call("GET /api/realtime/tables")
  assert.include(tables.text, "notes")
  await subscribe(service, "notes")
  const feed = await openFeed(service, { key: service.anon })
  const hook = await call("POST /api/webhooks", { table_name: "notes", events: ["INSERT"], url: "http://127.0.0.1:9/" })
  const { id } = hook.json as { id: number }
  await on(here, "insert into public.notes values (1, 'one')")
  await feed.upTo((event) => JSON.stringify(event).includes("one"))
  await until(
    () => call(`GET /api/webhooks/${id}/logs`),
    ({ json }) => (json as ReadonlyArray<unknown>).length > 0
  )
  await call("GET /api/realtime/subscriptions")
  await call("GET /v1/database/schema", undefined, 500)
  await call("POST /api/flags", { key: "a", name: "a", type: "boolean", enabled: true }, 499)
  await call("GET /api/flags")
  await call("GET /api/connections")
  await call("POST /api/fdw/server", { name: "far", host: "127.0.0.1", port: "1", dbname: "x" }, 499)
  await call("GET /api/sql/fdw", undefined, 500)
  await writeFiles(env.MIGRATIONS_DIR, {
    "1_evil.sql": `create table made (id int); set search_path = public, pg_catalog`,
    "2_evil.sql": `-- svc: no transaction\nset search_path = public, pg_catalog; create table public.made_too (id int)`
  })
  await call("GET /api/migrations/idempotent/status")
  const ran = await call("POST /api/migrations/idempotent/run")
  assert.deepInclude(ran.json, { ran: ["1_evil", "2_evil"] })
  const { id: backup } = await backUp(service)
  assert.strictEqual((await backupOver(service, backup)).status, "completed")
  await call(`GET /api/backups/${backup}/globals`)
  await makeBranch(service)
  await call("GET /api/branches")
  for (const { id } of (await call("GET /api/branches")).json as ReadonlyArray<{ id: number }>)
    await call(`DELETE /api/branches/${id}`)

  assert.deepStrictEqual(await on(here, "select * from spy.log"), [])
  assert.deepStrictEqual(await on(here, "select is_called from spy.privileged"), [{ is_called: false }])
  // The overloads do run where search_path contains public.
  await on(here, `select from pg_catalog.pg_namespace n where has_schema_privilege('anon', n.oid, 'usage')`)
  assert.notDeepEqual(await on(here, "select * from spy.log"), [])
}, 120_000)
