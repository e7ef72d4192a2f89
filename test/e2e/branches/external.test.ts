import { Client } from "pg"
import { afterAll, afterEach, assert, beforeEach, describe, it } from "vitest"
import { asLogin, branchSql, hammer, makeBranch, onBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { type Service, startService, until } from "../../support/service.ts"

// An external server; each test has its own database there.
const postgres = await startOtherPostgres()
const server = postgres.url
const main = `branched "main's" ü`
const as = (user: string) => {
  const url = new URL(toDatabase(server, main))
  if (user !== "postgres") [url.username, url.password] = [user, "secret"]
  return url.href
}
const admin = async (...statements: ReadonlyArray<string>) => {
  const done = await asLogin(server, ...statements)
  if (typeof done === "string") throw new Error(done)
  return done
}
const quoted = `"${main.replaceAll('"', '""')}"`
const leftovers = `select datname as name from pg_database where datname like 'svc\\_branch\\_%'
  union all select rolname from pg_roles where rolname like 'svc\\_branch\\_%'`

const clean = async () => {
  await admin(`drop database if exists ${quoted} with (force)`)
  for (const { name } of (await admin(
    "select datname as name from pg_database where datname like 'svc\\_branch\\_%'"
  )) as Array<{ name: string }>) {
    await admin(`drop database ${name} with (force)`)
  }
  for (const { name } of (await admin(
    `select rolname as name from pg_roles
     where rolname ~ '^svc_(branch|authenticator|events)' or rolname in ('anon', 'authenticated', 'keeper', 'guest')`
  )) as Array<{ name: string }>) {
    await asLogin(server, `drop owned by ${name}`)
    await asLogin(server, `drop role ${name}`)
  }
}
beforeEach(clean)
afterEach(clean)
afterAll(() => postgres[Symbol.asyncDispose]())

const notes = async (service: Service) => {
  await sql(service, "create table notes (id int generated always as identity primary key, text text)")
  await sql(service, "insert into notes (text) values ('one')")
}
/** A second service has the same keys as the first. */
const beside = (second: Service, first: Service): Service => ({
  ...second,
  service_role: first.service_role,
  anon: first.anon,
  [Symbol.asyncDispose]: () => second[Symbol.asyncDispose]()
})

describe("branches on DATABASE_URL", () => {
  it("are created under the load of two services, without failing requests, and used through both", async () => {
    await admin(`create database ${quoted}`, `alter database ${quoted} set svc.tried to 'yes, it''s "here"'`)
    const env = { DATABASE_URL: as("postgres") }
    await using first = await startService({ env })
    await using started = await startService({ env })
    const second = beside(started, first)
    await notes(first)
    await sql(first, "create table load as select n, repeat('x', 500) as text from generate_series(1, 100000) n")
    const idle = new Client({ connectionString: as("postgres"), application_name: "somebody else" })
    const ended = new Promise<string>((done) => idle.on("error", (cause) => done(cause.message)))
    await idle.connect()

    const clients = hammer([first, second])
    await until(
      async () => clients.answers(),
      (answers) => answers > 100
    )
    const [one, two] = await Promise.all([makeBranch(first, "one"), makeBranch(second, "two")])
    const before = clients.answers()
    await until(
      async () => clients.answers(),
      (answers) => answers > before + 100
    )
    const { failures } = await clients.stop()
    assert.deepStrictEqual(failures, [])
    assert.match(await ended, /terminat/)

    // Only the other client's session was terminated: both services closed theirs.
    const [killed] = await until(
      () => sql(first, "select sessions_killed::int as n from pg_stat_database where datname = current_database()"),
      ([row]) => Number(row?.["n"]) > 0
    )
    assert.strictEqual(killed?.["n"], 1)

    for (const service of [first, second]) {
      for (const { id } of [one, two]) {
        const found = await branchSql(
          service,
          id,
          "select count(*)::int as n, current_setting('svc.tried') as s from load"
        )
        assert.deepStrictEqual(found, [{ n: 100_000, s: `yes, it's "here"` }])
      }
    }
    // A branch dropped by one service is unknown to the other too.
    await ask(first, `DELETE /api/branches/${two.id}`, { key: first.service_role })
    const gone = await until(
      () => onBranch(second, two.id, "GET /v1/db/notes"),
      ({ status }) => status === 404
    )
    assertRefused(gone, 404, "BRANCH_NOT_FOUND")
    // Existing logins keep access to the main database; the branch's login has none.
    assert.match(String(await asLogin(toDatabase(one.connection, main), "select 1")), /^42501/)
  })

  it("are created by a login that is not a superuser, once it has the privileges", async () => {
    await admin(
      "create role keeper login createrole password 'secret'",
      "create role guest login password 'secret'",
      `create database ${quoted} owner keeper`
    )
    const env = { DATABASE_URL: as("keeper"), SVC_SERVICE_ROLE: "keeper", SVC_DB_SCHEMAS: "app" }
    assert.isArray(await asLogin(as("keeper"), "create schema app"))
    await using service = await startService({ env })
    await sql(service, "create table app.notes (id int primary key, text text)")
    await sql(service, "insert into app.notes values (1, 'one')")
    const body = { label: "a" }
    const refused = await ask(service, "POST /api/branches", { key: service.service_role, body })
    assert.match(String(assertRefused(refused, 403, "BRANCH_NOT_ALLOWED")["hint"]), /alter role keeper createdb/)
    assert.deepStrictEqual(await admin(leftovers), [])

    await admin("alter role keeper createdb")
    const { connection, id } = await makeBranch(service)
    assert.deepStrictEqual(
      await asLogin(connection, "alter table app.notes add column n int default 2", "select n from app.notes"),
      [{ n: 2 }]
    )
    const seen = await onBranch(service, id, "GET /v1/db/notes?id=eq.1")
    assert.deepStrictEqual(seen.json, [{ id: 1, text: "one", n: 2 }])
    assert.match(String(await asLogin(toDatabase(connection, main), "select 1")), /^42501/)
    assert.deepStrictEqual(await asLogin(as("guest"), "select 1 as one"), [{ one: 1 }])
    const guest = new Client({ connectionString: as("guest"), application_name: "payroll" })
    guest.on("error", () => undefined)
    await guest.connect()
    const from = performance.now()
    const stuck = await ask(service, "POST /api/branches", { key: service.service_role, body })
    assert.match(String(assertRefused(stuck, 503, "BRANCH_SOURCE_BUSY")["details"]), /is not allowed to end: payroll/)
    assert.isBelow(performance.now() - from, 3_000)
    await admin("grant pg_signal_backend to keeper")
    const { id: next } = await makeBranch(service)
    assert.strictEqual((await ask(service, `DELETE /api/branches/${next}`, { key: service.service_role })).status, 200)
    // Dropping the branch terminates its sessions.
    const inside = new Client({ connectionString: connection })
    inside.on("error", () => undefined)
    await inside.connect()
    const reply = await ask(service, `DELETE /api/branches/${id}`, { key: service.service_role })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.deepStrictEqual(await admin(leftovers), [])
  })

  it("are rejected while there are other sessions that must not be terminated", async () => {
    await admin(`create database ${quoted}`)
    const env = { DATABASE_URL: as("postgres"), SVC_BRANCH_END_SESSIONS: "false" }
    await using service = await startService({ env })
    await notes(service)
    const body = { label: "a" }
    const create = () => ask(service, "POST /api/branches", { key: service.service_role, body })
    const other = new Client({ connectionString: as("postgres"), application_name: "payroll" })
    await other.connect()
    const from = performance.now()
    assert.match(String(assertRefused(await create(), 503, "BRANCH_SOURCE_BUSY")["details"]), /payroll/)
    assert.isBelow(performance.now() - from, 3_000, "no client waits for it")
    assert.strictEqual((await other.query("select 1")).rowCount, 1)
    await other.end()
    assert.strictEqual((await create()).status, 201)
    assert.deepStrictEqual(await sql(service, "select count(*)::int as n from svc.branches"), [{ n: 1 }])
  })

  it("leave nothing behind when only the service is killed during a copy", async () => {
    await admin(`create database ${quoted}`)
    const env = { DATABASE_URL: as("postgres") }
    const first = await startService({ env })
    try {
      await notes(first)
      for (let i = 0; i < 5; i++) {
        await sql(
          first,
          `${i === 0 ? "create table load as" : "insert into load"} select n, repeat('x', 1000) as text from generate_series(1, 100000) n`
        )
      }
      const creation = ask(first, "POST /api/branches", { key: first.service_role, body: { label: "a" } }).catch(
        () => undefined
      )
      await until(
        () =>
          admin("select from pg_stat_activity where query ilike 'create database \"svc_branch%' and state = 'active'"),
        ({ length }) => length > 0
      )
      await first.stop("SIGKILL")
      await creation
    } finally {
      await first[Symbol.asyncDispose]()
    }
    await using second = await startService({ env })
    const left = await until(
      () => admin(leftovers),
      ({ length }) => length === 0,
      20_000
    )
    assert.deepStrictEqual(left, [])
    const again = { ...second, service_role: first.service_role }
    const rows = await until(
      () => sql(again, "select from svc.branches"),
      ({ length }) => length === 0,
      20_000
    )
    assert.deepStrictEqual(rows, [])
    assert.deepStrictEqual(await sql(again, "select count(*)::int as n from load"), [{ n: 500_000 }])
  })
})
