import { connect, createServer, type Socket } from "node:net"
import { Client } from "pg"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { runToEnd, type Service, startService, until } from "../../support/service.ts"

// An external server: each test has its own database there, and starts without the service's roles.
const postgres = await startOtherPostgres()
const server = new URL(postgres.url)
const as = (user: string, database: string) => {
  const url = new URL(server)
  url.pathname = database
  if (user !== "postgres") [url.username, url.password] = [user, "secret"]
  return url.href
}

const run = async (url: string, statements: ReadonlyArray<string>) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
const admin = (...statements: ReadonlyArray<string>) => run(server.href, statements)

/** A second database's authenticator has the database's oid in its name. */
const dropAuthenticators = `do $$ declare name text; begin
  for name in select rolname from pg_roles where rolname like 'svc\\_authenticator%' loop
    execute format('drop role %I', name);
  end loop;
end $$`

const clean = () =>
  admin(
    ...["theirs", "others"].map((name) => `drop database if exists ${name} with (force)`),
    dropAuthenticators,
    ...["anon", "authenticated", "owner"].map((role) => `drop role if exists ${role}`)
  )
beforeEach(clean)
afterAll(() => postgres[Symbol.asyncDispose]())

/** Rows of two users with a policy, read by one of them. */
const readOwnRows = async (service: Service) => {
  await sql(service, "create table notes (id int primary key, owner text)")
  await sql(service, "alter table notes enable row level security")
  await sql(service, "create policy own on notes using (owner = current_setting('request.jwt.sub', true))")
  await sql(service, "insert into notes values (1, ''), (2, 'alice')")
  return (await ask(service, "GET /v1/db/notes", { key: service.anon })).json
}

describe("DATABASE_URL", () => {
  it("serves a superuser's database; prints keys once, and all processes reject a revoked one", async () => {
    await admin("create database theirs")
    const env = { DATABASE_URL: as("postgres", "theirs") }
    await using first = await startService({ env })
    assert.match(first.service_role, /^svc_sk_/)
    await using second = await startService({ env })
    assert.strictEqual(second.service_role, "", "keys were created a second time")
    assert.deepStrictEqual(await readOwnRows(first), [{ id: 1, owner: "" }])

    const body = { keyType: "service_role" }
    const made = await ask(first, "POST /api/keys", { key: first.service_role, body })
    const { key, secret } = made.json as { key: { id: number }; secret: string }
    const atSecond = () => ask(second, "GET /v1/status", { key: secret })
    assert.strictEqual((await atSecond()).status, 200)
    assert.strictEqual((await atSecond()).status, 200)
    await ask(first, `DELETE /api/keys/${key.id}`, { key: first.service_role })
    const from = Date.now()
    assertRefused(await until(atSecond, ({ status }) => status === 401), 401, "INVALID_API_KEY")
    assert.isBelow(Date.now() - from, 1_000)
  })

  it("serves a database whose owner is not a superuser but may create roles", async () => {
    await admin("create role owner login createrole password 'secret'", "create database theirs owner owner")
    const env = { DATABASE_URL: as("owner", "theirs"), SVC_SERVICE_ROLE: "owner", SVC_DB_SCHEMAS: "app" }
    await run(as("owner", "theirs"), ["create schema app"])
    await using service = await startService({ env })
    await sql(service, "create table app.notes (id int primary key)")
    await sql(service, "insert into app.notes values (1)")
    assert.deepStrictEqual((await ask(service, "GET /v1/db/notes", { key: service.anon })).json, [{ id: 1 }])
  })

  it("serves two databases of one server side by side, started at the same time", async () => {
    await admin("create database theirs", "create database others")
    const starts = ["theirs", "others"].map((name) => startService({ env: { DATABASE_URL: as("postgres", name) } }))
    await Promise.allSettled(starts)
    await using first = await starts[0]!
    await using second = await starts[1]!
    for (const service of [first, second]) assert.deepStrictEqual(await readOwnRows(service), [{ id: 1, owner: "" }])
    const again = await ask(first, "GET /v1/db/notes", { key: first.anon })
    assert.deepStrictEqual(again.json, [{ id: 1, owner: "" }])
  })

  it("names the missing privilege, and the statement that grants it", async () => {
    await admin("create role owner login password 'secret'", "create database theirs")
    const start = (env: Readonly<Record<string, string>> = {}) =>
      runToEnd({ DATABASE_URL: as("owner", "theirs"), ...env })
    const refused = async (message: RegExp, env?: Readonly<Record<string, string>>) => {
      const end = await start(env)
      assert.strictEqual(end.code, 1, end.output)
      assert.match(end.output, message)
      assert.notMatch(end.output, /\n {4}at |"secret"|:secret@/)
    }
    await refused(/^svc: The database login lacks a privilege: CREATE on the database\..*create schema svc;\n$/)
    await admin("grant create on database theirs to owner")
    await refused(/^svc: The database login lacks a privilege: CREATEROLE\..*create role anon .*;\n$/m)
    await admin("alter role owner createrole")
    await refused(/^svc: .*Set SVC_SERVICE_ROLE=owner, or .*grant "postgres" to "owner";\n$/m)
    await run(as("postgres", "theirs"), ["create schema app"])
    await refused(/^svc: .*ownership of schema app\..*grant usage on schema "app" .*;\n$/m, {
      SVC_SERVICE_ROLE: "owner",
      SVC_DB_SCHEMAS: "app"
    })
    await refused(/^svc: The database at .* cannot be used: .*password authentication failed.*\n$/m, {
      DATABASE_URL: as("owner", "theirs").replace("secret", "wrong")
    })
    await refused(/^svc: The database at .* cannot be used: database "other" does not exist\n$/m, {
      DATABASE_URL: as("postgres", "other")
    })
  })
})

describe("a database that starts later", () => {
  const sockets = new Set<Socket>()
  const proxy = createServer((socket) => {
    const through = connect(Number(server.port), server.hostname)
    for (const end of [socket, through]) sockets.add(end.on("error", () => undefined))
    socket.pipe(through)
    through.pipe(socket)
  })
  let port = 0
  beforeAll(async () => {
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening))
    port = (proxy.address() as { port: number }).port
    await new Promise((closed) => proxy.close(closed))
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })

  it("is waited for", async () => {
    await admin("create database theirs")
    const url = new URL(as("postgres", "theirs"))
    url.port = String(port)
    await using service = await startService({
      env: { DATABASE_URL: url.href },
      meanwhile: async (output) => {
        const waits = (text: string) => text.includes("is not reachable yet")
        assert.include(await until(async () => output(), waits, 20_000), "is not reachable yet")
        await new Promise<void>((listening) => proxy.listen(port, "127.0.0.1", listening))
      }
    })
    assert.notInclude(service.output(), url.password)
    assert.strictEqual((await ask(service, "GET /v1/status", { key: service.service_role })).status, 200)
  })
})
