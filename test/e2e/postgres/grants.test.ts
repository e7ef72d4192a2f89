import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Client } from "pg"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type PostgresCluster, startPostgresCluster } from "../../../bench/support/cluster.ts"
import { ask, sql } from "../../support/client.ts"
import { root, startService, until } from "../../support/service.ts"

let cluster: PostgresCluster
beforeAll(async () => {
  cluster = await startPostgresCluster(1)
  await cluster.primary.sql("create database theirs")
}, 120_000)
afterAll(() => cluster[Symbol.asyncDispose]())

const login = "keeper of all"
const uri = (port: number) => `postgres://127.0.0.1:${port}/theirs`

const settings = () => ({
  DATABASE_URL: uri(cluster.primary.port).replace("//", `//${encodeURIComponent(login)}:s3cret%20word@`),
  DATABASE_READ_URLS: cluster.standbys.map(({ port }) => uri(port)).join(" "),
  SVC_SERVICE_ROLE: login,
  // PostgreSQL's default limit of connections is 100.
  SVC_DB_POOL_SIZE: "4",
  SVC_BRANCH_MAX_CONNECTIONS: "10"
})

const svc = (...args: ReadonlyArray<string>) =>
  promisify(execFile)(process.execPath, ["dist/svc.mjs", ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", SVC_DATA_DIR: "/tmp/svc-grants-nothing", ...settings() }
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout })
  )

interface Found {
  readonly part: string
  readonly level: string
  readonly text: string
  readonly sql?: { readonly statements: ReadonlyArray<string> }
}

const check = async () => {
  const { code, stdout } = await svc("check", "--json")
  return { code, findings: (JSON.parse(stdout) as { readonly findings: ReadonlyArray<Found> }).findings }
}

/** Runs SQL as the superuser in the database. */
const asSuperuser = async (text: string) => {
  const client = new Client({
    host: "127.0.0.1",
    port: cluster.primary.port,
    user: "postgres",
    password: cluster.password,
    database: "theirs"
  })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

it("svc grants prepares a database for a login that is no superuser, after which svc check finds nothing", async () => {
  const before = await check()
  assert.strictEqual(before.code, 2)
  assert.match(before.findings[0]?.text ?? "", /password authentication failed|does not exist/)

  // A login that can do no more than start the service.
  await cluster.primary.sql(`create role "${login}" login createrole password 's3cret word'`)
  await asSuperuser(`grant create on database theirs to "${login}"`)
  const bare = await check()
  assert.strictEqual(bare.code, 1, JSON.stringify(bare))
  const text = bare.findings.map((one) => one.text).join("\n")
  for (const what of [
    /only the rows/,
    /event triggers/,
    /end their connections/,
    /BRANCH_NOT_ALLOWED/,
    /ended for a branch/
  ]) {
    assert.match(text, what)
  }

  const { code, stdout } = await svc("grants", "--replication", "--pooler")
  assert.strictEqual(code, 0)
  assert.notInclude(stdout, "s3cret")
  // It can be run again.
  for (let times = 0; times < 2; times++) await asSuperuser(stdout)
  const [role] = await cluster.primary.sql(
    "select rolsuper, rolreplication, rolpassword like 'SCRAM-SHA-256$4096:%' as scram from pg_authid where rolname = $1",
    [login]
  )
  assert.deepStrictEqual(role, { rolsuper: false, rolreplication: true, scram: true })
  await cluster.caughtUp(cluster.standbys[0]!)
  assert.deepStrictEqual(await check(), { code: 0, findings: [] })

  const hook = { SVC_HOOK_BEFORE_USER_CREATED_URI: "pg-functions://postgres/public/who_asks" }
  await using service = await startService({ env: { ...settings(), ...hook } })
  const warnings = service
    .output()
    .split("\n")
    .filter((line) => line.includes('"WARN"'))
  assert.deepStrictEqual(warnings, [])
  await until(
    () => Promise.resolve(service.output()),
    (output) => output.includes("serves reads")
  )
  assert.match(service.output(), /The standby 127\.0\.0\.1:\d+ serves reads/)
  await sql(service, "create table tasks (id int primary key)")
  await sql(service, "insert into tasks values (1)")
  assert.deepStrictEqual((await ask(service, "GET /v1/db/tasks", { key: service.anon })).json, [{ id: 1 }])
  await sql(
    service,
    `create function who_asks(event jsonb) returns jsonb language sql as
     $$ select jsonb_build_object('error', jsonb_build_object('http_code', 403, 'message', current_user::text)) $$`
  )
  const account = { email: "ann@example.com", password: "four common words" }
  const refused = await ask(service, "POST /api/auth/register", { body: account })
  assert.deepInclude(refused.json, { code: "hook_refused", error: "svc_hooks" })
  const branch = await ask(service, "POST /api/branches", { key: service.service_role, body: { label: "x" } })
  assert.strictEqual(branch.status, 201, branch.text)
  // The passwords of the logins that the service has made, for PgBouncer.
  const found = await asPooler()
  assert.match(found, /^SCRAM-SHA-256\$/)
  await cluster.caughtUp(cluster.standbys[0]!)
  assert.deepStrictEqual(await check(), { code: 0, findings: [] })
}, 180_000)

const asPooler = async () => {
  const client = new Client({ connectionString: settings().DATABASE_URL })
  await client.connect()
  try {
    const { rows } = await client.query<{ readonly passwd: string }>(
      "select passwd from pooler.login('svc_authenticator')"
    )
    return rows[0]?.passwd ?? ""
  } finally {
    await client.end()
  }
}

it("the SQL of what svc check finds mends it", async () => {
  await asSuperuser(`drop event trigger svc_ddl; drop event trigger svc_ddl_drop;
    alter role "${login}" nobypassrls nocreatedb; revoke pg_signal_backend, pg_read_all_settings from "${login}";
    grant execute on function pg_cancel_backend(integer) to public`)
  const { code, findings } = await check()
  assert.strictEqual(code, 1)
  assert.lengthOf(findings, 6, JSON.stringify(findings))
  for (const { sql } of findings) for (const text of sql?.statements ?? [""]) await asSuperuser(text)
  await cluster.caughtUp(cluster.standbys[0]!)
  assert.deepStrictEqual(await check(), { code: 0, findings: [] })
}, 60_000)

it("names standbys without reads, and pools that are larger than the server's limit", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["dist/svc.mjs", "check", "--json"], {
    cwd: root,
    env: {
      PATH: process.env["PATH"] ?? "",
      SVC_DATA_DIR: "/tmp/svc-grants-nothing",
      ...settings(),
      SVC_DB_POOL_SIZE: "1000",
      DATABASE_READ_URLS: `${uri(cluster.primary.port)} ${uri(1)}`
    }
  }).catch((cause: { readonly stdout: string }) => cause)
  const { findings } = JSON.parse(stdout) as { readonly findings: ReadonlyArray<Found> }
  assert.deepStrictEqual(
    findings.map(({ part }) => part),
    ["PostgreSQL", "Standby", "Standby"]
  )
  assert.match(findings[0]?.text ?? "", /allows \d+ connections, and this service opens up to 7050/)
  assert.match(findings[1]?.text ?? "", /gets no reads: it is no standby/)
  assert.match(findings[2]?.text ?? "", /gets no reads: it does not answer: .*ECONNREFUSED/)
}, 60_000)
