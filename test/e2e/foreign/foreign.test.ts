import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type OtherPostgres, startOtherPostgres } from "../../support/postgres/external.ts"
import { type Address, type Service, startService } from "../../support/service.ts"

const shared = inject("service")
const asking = (service: Address) => (line: string, body?: unknown) =>
  ask(service, line, { key: service.service_role, body })
const run = asking(shared)

let other: OtherPostgres
beforeAll(async () => {
  other = await startOtherPostgres()
})
afterAll(() => other[Symbol.asyncDispose]())

const makeServer = (service: Address, name: string) =>
  asking(service)("POST /api/fdw/server", {
    name,
    fdw_name: "postgres_fdw",
    host: "127.0.0.1",
    port: String(other.port),
    dbname: "postgres"
  })
const mapUser = (service: Address, server: string, remote_password: string) =>
  asking(service)("POST /api/fdw/user-mapping", {
    server,
    local_user: "current_user",
    remote_user: "postgres",
    remote_password
  })

describe("/api/fdw", () => {
  it("creates a server and a user mapping, imports, lists; the tables serve rows like others", async () => {
    await other.sql("create schema e2e_shop; create table e2e_shop.e2e_foreign (id int primary key, name text)")
    await other.sql("insert into e2e_shop.e2e_foreign values (1, 'a')")
    assert.strictEqual((await makeServer(shared, "e2e shop")).status, 201)
    const mapped = await mapUser(shared, "e2e shop", other.password)
    assert.strictEqual(mapped.status, 201, mapped.text)
    assert.deepStrictEqual(mapped.json, { server: "e2e shop", local_user: "postgres", remote_user: "postgres" })
    const body = { server: "e2e shop", remote_schema: "e2e_shop", local_schema: "public" }
    const imported = await run("POST /api/fdw/import", body)
    assert.strictEqual(imported.status, 201, imported.text)
    const table = {
      schema: "public",
      table_name: "e2e_foreign",
      server_name: "e2e shop",
      columns: ["id integer", "name text"]
    }
    assert.deepStrictEqual(imported.json, { ...body, foreignTables: [table] })
    const key = shared.service_role
    assert.deepStrictEqual((await ask(shared, "GET /v1/db/e2e_foreign", { key })).json, [{ id: 1, name: "a" }])
    assert.deepStrictEqual(await sql(shared, "select * from e2e_foreign"), [{ id: 1, name: "a" }])
    assertRefused(await ask(shared, "GET /v1/db/e2e_foreign", { key: shared.anon }), 401, "42501")
    const listed = await run("GET /api/sql/fdw")
    const { foreignTables, wrappers } = listed.json as { foreignTables: Array<object>; wrappers: Array<object> }
    assert.deepInclude(foreignTables, table)
    assert.deepInclude(wrappers, {
      server_name: "e2e shop",
      fdw_name: "postgres_fdw",
      handler: "postgres_fdw_handler",
      validator: "postgres_fdw_validator",
      server_options: ["host=127.0.0.1", `port=${other.port}`, "dbname=postgres", "connect_timeout=5"],
      user_mappings: ["postgres"]
    })
    assert.notInclude(listed.text + mapped.text + imported.text, other.password)
    assertRefused(await run("POST /api/fdw/import", body), 409, "FOREIGN_TABLE_EXISTS")
    await sql(shared, `drop server "e2e shop" cascade`)
    assertRefused(await ask(shared, "GET /v1/db/e2e_foreign", { key }), 404, "PGRST205")
  })

  it("drops a mapping and a server, whose tables only with cascade", async () => {
    const name = "to / drop ü"
    const path = `/api/fdw/server/${encodeURIComponent(name)}`
    await other.sql("create schema e2e_gone; create table e2e_gone.e2e_gone_table (id int)")
    assert.strictEqual((await makeServer(shared, name)).status, 201)
    assert.strictEqual((await mapUser(shared, name, other.password)).status, 201)
    const body = { server: name, remote_schema: "e2e_gone", local_schema: "public" }
    assert.strictEqual((await run("POST /api/fdw/import", body)).status, 201)
    assert.strictEqual((await run("GET /v1/db/e2e_gone_table")).status, 200)
    assert.deepStrictEqual((await run(`DELETE ${path}/user-mapping/CURRENT_USER`)).json, { success: true })
    assertRefused(await run(`DELETE ${path}/user-mapping/current_user`), 404, "USER_MAPPING_NOT_FOUND")
    assertRefused(await run(`DELETE ${path}`), 409, "FOREIGN_SERVER_IN_USE")
    assertRefused(await run(`DELETE ${path}?cascade=yes`), 400, "INVALID_REQUEST")
    assertRefused(await ask(shared, `DELETE ${path}`, { key: shared.anon }), 403, "FORBIDDEN")
    assert.deepStrictEqual((await run(`DELETE ${path}?cascade=true`)).json, { success: true })
    assertRefused(await run("GET /v1/db/e2e_gone_table"), 404, "PGRST205")
    assertRefused(await run(`DELETE ${path}`), 404, "FOREIGN_SERVER_NOT_FOUND")
  })

  it("requires a service_role key", async () => {
    for (const line of [
      "GET /api/sql/fdw",
      "POST /api/fdw/server",
      "POST /api/fdw/user-mapping",
      "POST /api/fdw/import"
    ]) {
      const body = line.startsWith("GET") ? {} : { body: {} }
      assertRefused(await ask(shared, line, body), 401)
      assertRefused(await ask(shared, line, { key: shared.anon, ...body }), 403)
    }
  })

  const server = { name: "x", host: "h", dbname: "d" }
  const mapping = { server: "x", local_user: "y", remote_user: "u", remote_password: "s3cret" }
  it.each([
    ["server", {}, ["name: Missing key", "host: Missing key", "dbname: Missing key"]],
    ["server", { ...server, port: "54x" }, ["port: Expected a port from 1 to 65535"]],
    ["server", { ...server, port: "0" }, ["port: Expected a port from 1 to 65535"]],
    ["server", { ...server, port: "5432,1" }, ["port: Expected a port from 1 to 65535"]],
    ["server", { ...server, port: 65536 }, ["port: Expected a port from 1 to 65535"]],
    ["server", { ...server, host: "h\n" }, ["host: Expected a host name or an address"]],
    ["server", { ...server, host: "h user=x" }, ["host: Expected a host name or an address"]],
    ["server", { ...server, name: "ä".repeat(32) }, ["name: Expected at most 63 bytes"]],
    ["server", { ...server, dbname: "a\0b" }, ["dbname: Expected text without NUL and half surrogate pairs"]],
    ["user-mapping", { ...mapping, remote_password: ["s3cret"] }, ["remote_password: Expected string"]],
    [
      "user-mapping",
      { ...mapping, remote_password: "s3\0cret" },
      ["remote_password: Expected text without NUL and half surrogate pairs"]
    ],
    ["user-mapping", { ...mapping, remote_user: "" }, ["remote_user: Expected a value with a length of at least 1"]],
    ["import", { server: "x", remote_schema: "y" }, ["local_schema: Missing key"]],
    [
      "import",
      { server: "x", remote_schema: "y", local_schema: "svc" },
      ["local_schema: Expected a schema other than those of PostgreSQL and of the service"]
    ]
  ])("%s rejects %j", async (path, body, details) => {
    const reply = await run(`POST /api/fdw/${path}`, body)
    assert.deepStrictEqual(assertRefused(reply, 400, "INVALID_REQUEST")["details"], details)
    assert.notInclude(reply.text, "s3")
  })

  it("does not echo an invalid body", async () => {
    const reply = await run("POST /api/fdw/user-mapping", '{"remote_password": "s3cret" oops')
    assertRefused(reply, 400)
    assert.notInclude(reply.text, "s3cret")
  })
})

const naive = "this-1s-in-the-log"

/** A password that must appear nowhere: of a created mapping, of a duplicate, and of a failed login. */
const leave = async (service: Service, password: string) => {
  const texts = [
    await makeServer(service, "leaky"),
    await mapUser(service, "leaky", password),
    await mapUser(service, "leaky", password),
    await asking(service)("POST /api/fdw/import", { server: "leaky", remote_schema: "public", local_schema: "x" }),
    await asking(service)("GET /api/sql/fdw"),
    // The same statements without precautions.
    await asking(service)("POST /v1/sql", {
      sql: `create user mapping for current_user server leaky options (password '${naive}')`
    })
  ]
  assert.deepStrictEqual(
    texts.map(({ status }) => status),
    [201, 201, 409, 400, 200, 400],
    texts.map(({ text }) => text).join("\n")
  )
  return texts.map(({ text }) => text).join("\n") + service.output()
}

describe("the password of a user mapping is in no response and no log", () => {
  const password = "n0where-t0-be-found"

  it("of a server that logs every statement, with service keys as superusers", async () => {
    await using service = await startService({ env: { LOG_LEVEL: "All" } })
    for (const setting of [
      "log_statement = 'all'",
      "log_min_duration_statement = 0",
      "log_min_messages = debug1",
      "log_parameter_max_length_on_error = -1"
    ]) {
      await sql(service, `alter system set ${setting}`)
    }
    await sql(service, "select pg_reload_conf()")
    const replies = await leave(service, password)
    const log = await readFile(join(service.dataDir, "postgres.log"), "utf8")
    assert.include(log, naive, "statements are not logged")
    assert.notInclude(replies + log, password)
  })

  it("of a server with default settings, with service keys as an ordinary role", async () => {
    // The default of PostgreSQL; the test server changes it.
    await other.sql("alter system set log_min_messages = warning")
    await other.sql("alter system set log_min_error_statement = error")
    await other.sql("select pg_reload_conf()")
    await other.sql("create role owner login createrole password 'secret'")
    await other.sql("create database theirs owner owner")
    const url = new URL(other.url)
    Object.assign(url, { pathname: "theirs", username: "owner", password: "secret" })
    await using service = await startService({
      env: { DATABASE_URL: url.href, SVC_SERVICE_ROLE: "owner", LOG_LEVEL: "All" }
    })
    const refused = assertRefused(await makeServer(service, "leaky"), 403, "FOREIGN_NOT_ALLOWED")
    assert.match(String(refused["hint"]), /create extension postgres_fdw/)
    url.username = "postgres"
    url.password = other.password
    const admin = new Client({ connectionString: url.href })
    await admin.connect()
    await admin.query("create extension postgres_fdw; grant usage on foreign data wrapper postgres_fdw to owner")
    await admin.end()
    const replies = await leave(service, password)
    const log = await other.log()
    assert.include(log, naive, "failed statements are not logged")
    assert.notInclude(replies + log, password)
  })

  it("a database without SVC_ENCRYPTION_KEY stores no connections", async () => {
    await other.sql("create database keyless")
    const url = new URL(other.url)
    url.pathname = "keyless"
    await using service = await startService({ env: { DATABASE_URL: url.href } })
    for (const line of ["GET /api/connections", "GET /api/connections/1", "DELETE /api/connections/1"]) {
      assertRefused(await asking(service)(line), 503, "NOT_CONFIGURED")
    }
    const body = { name: "x", connection_url: "postgres://u:s3cret@h/db" }
    assertRefused(await asking(service)("POST /api/connections", body), 503, "NOT_CONFIGURED")
  })
})
