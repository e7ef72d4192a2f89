import { readFile, stat, writeFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { startPooler } from "../../support/postgres/pooler.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { root, runToEnd, type Service, startService, until } from "../../support/service.ts"

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
  it("runs schedules as the roles of callers by a login that is no superuser", async () => {
    await admin("create role owner login createrole bypassrls password 'secret'", "create database theirs owner owner")
    const env = { DATABASE_URL: as("owner", "theirs"), SVC_SERVICE_ROLE: "owner", SVC_SUPABASE: "true" }
    await using service = await startService({ env })
    const manage = async (line: string, body?: object) => {
      const reply = await ask(service, line, { key: service.service_role, ...(body && { body }) })
      return { ...reply, json: reply.json as Readonly<Record<string, unknown>> }
    }
    const message = async (role: string | undefined, text: string) => {
      const target = { type: "sql", sql: text }
      const given = { name: text, cron: "0 0 1 1 *", target, ...(role === undefined ? {} : { role }) }
      const made = await manage("POST /api/schedules", given)
      assert.strictEqual(made.status, 201, made.text)
      await manage(`POST /api/schedules/${made.json["id"]}/run`)
      const { json } = await until(
        () => manage(`GET /api/schedules/${made.json["id"]}/runs`),
        ({ text }) => !/"(pending|running)"/.test(text)
      )
      const [run] = json as object as ReadonlyArray<{ readonly error: string | null; readonly result: string | null }>
      return run?.error ?? run?.result
    }
    await sql(service, "create table secrets (id int)")
    await sql(service, "revoke all on secrets from anon")
    assert.strictEqual(await message(undefined, "insert into secrets values (1)"), "INSERT 0 1")
    assert.strictEqual(await message("anon", "select 1"), "SELECT 1")
    assert.strictEqual(await message("anon", "select 2"), "SELECT 1")
    assert.include(await message("anon", "reset role; select * from secrets"), "permission denied for table secrets")
    assert.include(await message("anon", "set role owner"), "permission denied to set role")
    assertRefused(
      await manage("POST /api/schedules", {
        name: "x",
        cron: "@daily",
        role: "postgres",
        target: { type: "sql", sql: "select 1" }
      }),
      403,
      "SCHEDULE_ROLE_DENIED"
    )
    assert.strictEqual(
      (await sql(service, "select cron.schedule('a', '0 3 * * *', 'select 1') > 0 as made"))[0]?.["made"],
      true
    )
  })

  it("serves a superuser's database; stores the first keys, and all processes reject a revoked one", async () => {
    await admin("create database theirs")
    const env = { DATABASE_URL: as("postgres", "theirs") }
    await using first = await startService({ env })
    assert.match(first.service_role, /^svc_sk_/)
    const file = join(first.dataDir, "keys.json")
    assert.strictEqual((await stat(file)).mode & 0o777, 0o600)
    assert.include(first.output(), `stored in ${file}`)
    assert.notMatch(first.output(), /svc_[ps]k_/, "a log contains no secret")
    for (const line of first.output().trimEnd().split("\n")) assert.doesNotThrow(() => JSON.parse(line), line)
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
    assert.isBelow(Date.now() - from, 5_000)
  })

  it("serves a database whose owner is not a superuser but may create roles", async () => {
    await admin("create role owner login createrole password 'secret'", "create database theirs owner owner")
    const DATABASE_URL = `${as("owner", "theirs")}?channel_binding=prefer`
    await run(as("owner", "theirs"), ["create schema app"])
    await using service = await startService({
      env: { DATABASE_URL, SVC_SERVICE_ROLE: "owner", SVC_DB_SCHEMAS: "app" }
    })
    assert.include(service.output(), "Parameters of DATABASE_URL were ignored: channel_binding")
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

  it("names all missing privileges at once, with the SQL that grants them", async () => {
    await admin("create role owner login password 'secret'", "create database theirs")
    await run(as("postgres", "theirs"), ["create schema app"])
    const env = { DATABASE_URL: as("owner", "theirs"), SVC_DB_SCHEMAS: "app" }
    const named = await runToEnd({ ...env, SVC_SERVICE_ROLE: "svc" })
    assert.match(named.output, /^svc: The role svc has the name of the schema with the service's own tables/)
    const { code, output } = await runToEnd(env)
    assert.strictEqual(code, 1, output)
    assert.match(
      output,
      /^svc: The database login owner lacks privileges: CREATE on the database; CREATEROLE; membership of postgres; USAGE on schema app, .*\n$/
    )
    assert.match(output, /set SVC_SERVICE_ROLE=owner/)
    assert.notMatch(output, /\n {4}at |"secret"|:secret@/)
    const statements = /in database theirs: (.*)$/m.exec(output)?.[1]?.split(/(?<=;) /) ?? []
    assert.lengthOf(statements, 4)
    await run(
      as("postgres", "theirs"),
      statements.filter((text) => !text.startsWith('grant "postgres"'))
    )
    await using service = await startService({ env: { ...env, SVC_SERVICE_ROLE: "owner" } })
    const usage = "select has_schema_privilege('anon', 'app', 'usage') as ok"
    assert.deepStrictEqual(await sql(service, usage), [{ ok: true }])
    // A login that is not a superuser is no reason for a warning with a stack.
    assert.notMatch(service.output(), /leftovers|permission denied|\\n {4}at /)
  })

  it("has all capabilities with the login of the documentation, which is no superuser", async () => {
    const docs = await readFile(join(root, "docs/operations.md"), "utf8")
    const [once = [], inDatabase = []] = [...docs.matchAll(/```sql\n(.*?)```/gs)].map(([, block = ""]) =>
      block
        .replace("create database app owner app", "create database theirs owner owner")
        .replaceAll(/\bapp\b/g, "owner")
        .replace(/password '.*'/, "password 'secret'")
        .split(/;\n/)
        .filter((text) => text !== "")
    )
    await admin(...once)
    await run(as("postgres", "theirs"), inDatabase)
    await using service = await startService({
      env: { DATABASE_URL: as("owner", "theirs"), SVC_SERVICE_ROLE: "owner" }
    })
    assert.deepStrictEqual(await readOwnRows(service), [{ id: 1, owner: "" }])
    const branch = await ask(service, "POST /api/branches", { key: service.service_role, body: { label: "x" } })
    assert.strictEqual(branch.status, 201, branch.text)
    const { id } = branch.json as { readonly id: number }
    assert.strictEqual((await ask(service, `DELETE /api/branches/${id}`, { key: service.service_role })).status, 200)
    const warnings = service
      .output()
      .split("\n")
      .filter((line) => line.includes('"WARN"'))
    assert.deepStrictEqual(warnings, [])
  })

  it("says in one line what prevents a connection", async () => {
    await admin("create database theirs")
    const refused = async (message: RegExp, url: string) => {
      const end = await runToEnd({ DATABASE_URL: url })
      assert.strictEqual(end.code, 1, end.output)
      assert.match(end.output, message)
      assert.lengthOf(end.output.trimEnd().split("\n"), 1)
    }
    const wrong = new URL(as("postgres", "theirs"))
    wrong.password = "wrong"
    await refused(/^svc: The database at .* cannot be used: .*password authentication failed.*$/m, wrong.href)
    await refused(/^svc: The database at .* cannot be used: database "other" does not exist$/m, as("postgres", "other"))
    const url = as("postgres", "theirs")
    await refused(
      /^svc: Failed to read \/none\.pem \(sslrootcert .*: the file does not exist$/m,
      `${url}?sslmode=verify-full&sslrootcert=/none.pem`
    )
    await refused(/^svc: The database server .* does not support TLS/, `${url}?sslmode=require`)
  })

  it.each([
    [
      "accepted",
      /^svc: DATABASE_URL leads to a connection pooler that shares sessions between clients, such as PgBouncer in transaction mode\. .*direct/
    ],
    [
      "refused",
      /^svc: DATABASE_URL leads to a connection pooler, which does not accept settings of sessions \(.*\)\. .*direct/
    ]
  ] as const)("refuses a pooler in transaction mode whose startup settings are %s", async (startup, message) => {
    await admin("create database theirs")
    await using pooler = await startPooler({ host: server.hostname, port: Number(server.port) }, startup)
    const url = new URL(as("postgres", "theirs"))
    url.port = String(pooler.port)
    const end = await runToEnd({ DATABASE_URL: url.href })
    assert.strictEqual(end.code, 1, end.output)
    assert.match(end.output, message)
    assert.lengthOf(end.output.trimEnd().split("\n"), 1)
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

describe("a server with TLS", () => {
  it("is verified by the authority in the URL or NODE_EXTRA_CA_CERTS, and gets the client's certificate", async () => {
    await using secure = await startOtherPostgres()
    // Also the authority of the client's certificate. Only the server's user may read its key.
    const dir = String((await secure.sql("select current_setting('data_directory') as d"))[0]?.["d"])
    await secure.sql(`create temporary table pem (line text);
      copy pem from program 'openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=postgres -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.crt 2>&1 && chmod 600 server.key && cp server.crt root.crt'`)
    await secure.sql("alter system set ssl = on")
    await secure.sql("alter system set ssl_ca_file = 'root.crt'")
    await secure.sql("select pg_reload_conf()")
    const url = (query: string) => `${secure.url}?${query}`
    const isOn = () => secure.sql("show ssl")
    await until(isOn, ([row]) => row?.["ssl"] === "on")
    const refused = await runToEnd({ DATABASE_URL: url("sslmode=verify-full") })
    assert.strictEqual(refused.code, 1, refused.output)
    assert.match(
      refused.output,
      /^svc: The certificate of the database server 127\.0\.0\.1:\d+ cannot be verified: self-signed certificate\. .*sslrootcert.*NODE_EXTRA_CA_CERTS.*\n$/
    )
    const [authority, key] = [join(dir, "server.crt"), join(dir, "server.key")]
    const byVariable = { DATABASE_URL: url("sslmode=verify-full"), NODE_EXTRA_CA_CERTS: authority }
    let service_role: string
    {
      await using service = await startService({ env: byVariable })
      service_role = service.service_role
      assert.notMatch(service.output(), /DEP0123/)
    }
    // From now on, the server asks for a certificate of the client, which here is its own.
    await writeFile(join(dir, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full\n")
    await secure.sql("select pg_reload_conf()")
    const withoutOne = await runToEnd({ DATABASE_URL: url(`sslmode=verify-full&sslrootcert=${authority}`) })
    assert.match(
      withoutOne.output,
      /^svc: The database at .* cannot be used: connection requires a valid client certificate/m
    )
    const files = `sslrootcert=${authority}&sslcert=${authority}&sslkey=${key}`
    await using service = await startService({ env: { DATABASE_URL: url(`sslmode=require&${files}`) } })
    assert.deepStrictEqual(
      await sql(
        { ...service, service_role },
        "select distinct ssl, client_dn from pg_stat_ssl join pg_stat_activity using (pid) where datname is not null and application_name ~ '^svc'"
      ),
      [{ ssl: true, client_dn: "/CN=postgres" }]
    )
    assert.notMatch(service.output(), /Listener|DEP0123/)
  })
})
