import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { asLogin, branchSql, hammer, makeBranch, onBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type Service, startService, until } from "../../support/service.ts"

// A database of another owner, whose sessions must not be terminated.
const server = inject("databaseUrl")
const main = `dumped_${process.pid}`
const url = toDatabase(server, main)

const admin = async (...statements: ReadonlyArray<string>) => {
  const done = await asLogin(server, ...statements)
  if (typeof done === "string") throw new Error(done)
  return done
}

const env = { DATABASE_URL: url, SVC_BRANCH_END_SESSIONS: "false", SVC_BRANCH_STRATEGY: "auto" }
let keys: Pick<Service, "anon" | "service_role">

/** A service on that database; the keys are printed at the first start only. */
const start = async (strategy: "auto" | "dump", dataDir?: string): Promise<Service> => {
  const service = await startService({
    env: { ...env, SVC_BRANCH_STRATEGY: strategy },
    ...(dataDir === undefined ? {} : { dataDir })
  })
  return { ...service, ...keys, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

beforeAll(async () => {
  await admin(`create database ${main}`)
  await using first = await startService({ env })
  keys = { anon: first.anon, service_role: first.service_role }
  await sql(first, "create table notes (id int generated always as identity primary key, text text)")
  await sql(first, "insert into notes (text) values ('one')")
  await sql(first, "create table held (id int)")
  await sql(first, "create table load as select n, repeat('x', 500) as text from generate_series(1, 50000) n")
})
afterAll(async () => {
  const branches = (await asLogin(url, "select database_name as name from svc.branches")) as Array<{ name: string }>
  await admin(`drop database ${main} with (force)`)
  for (const { name } of branches) {
    await admin(`drop database if exists ${name} with (force)`)
    for (const role of [`${name}_keys`, `${name}_rows`, name]) await admin(`drop role if exists ${role}`)
  }
})

/** A client of the other owner, which stays connected throughout. */
const connectOther = async () => {
  const client = new Client({ connectionString: url, application_name: "payroll" })
  client.on("error", () => undefined)
  await client.connect()
  const query = (text: string) => client.query(text)
  return { query, [Symbol.asyncDispose]: () => client.end() }
}
type Other = Awaited<ReturnType<typeof connectOther>>

const leftOf = (names: ReadonlyArray<unknown>) =>
  admin(`select datname as name from pg_database where datname in ('${names.join("','")}')
    union all select rolname from pg_roles where rolname in ('${names.join("','")}')`)

const branchesOf = (service: Service) => sql(service, "select id, database_name as name, status from svc.branches")

/** Starts filling a branch from a dump, which waits for a table that `client` has locked. */
const startFilling = async (service: Service, client: Other) => {
  await client.query("begin; lock table held in access exclusive mode")
  const body = { label: "slow" }
  const creation = ask(service, "POST /api/branches", { key: service.service_role, body }).catch(() => undefined)
  const [branch] = await until(
    async () => (await branchesOf(service)).filter(({ status }) => status === "restoring"),
    ({ length }) => length > 0
  )
  await until(
    () => asLogin(url, "select from pg_locks where relation = 'held'::regclass and not granted"),
    ({ length }) => length > 0
  )
  return { creation, id: Number(branch?.["id"]), name: String(branch?.["name"]) }
}

describe("branches by dump", () => {
  it("are created under load, without affecting other sessions", async () => {
    await using service = await start("auto")
    await using other = await connectOther()
    await other.query("begin; insert into held values (1)")
    const clients = hammer([service])
    await until(
      async () => clients.answers(),
      (answers) => answers > 100
    )
    const { id, source_backup_id } = await makeBranch(service)
    assert.isNull(source_backup_id)
    const { failures, longest } = await clients.stop()
    assert.deepStrictEqual(failures, [])
    assert.isBelow(longest, 3_000, "no client waits")
    assert.strictEqual((await other.query("commit")).command, "COMMIT")

    assert.deepStrictEqual(
      await branchSql(
        service,
        id,
        "select (select count(*)::int from load) as load, (select count(*)::int from held) as held, count(*) >= 1 as notes from notes"
      ),
      [{ load: 50_000, held: 0, notes: true }]
    )
    assert.strictEqual((await onBranch(service, id, "POST /v1/db/notes", { text: "in the branch" })).status, 201)
  })

  it("are shown but unusable until they are filled, and are cancelled if dropped before", async () => {
    await using service = await start("dump")
    await using other = await connectOther()
    const { creation, id, name } = await startFilling(service, other)
    const call = (line: string) => ask(service, line, { key: service.service_role })
    const shown = await call(`GET /api/branches/${id}`)
    assert.deepInclude(shown.json, { id, database_name: name, status: "restoring", expires_at: null })
    assert.notInclude((await call("GET /api/branches")).text, name)
    for (const line of ["GET /v1/db/notes", "POST /v1/sql", "GET /v1/database/schema", "POST /v1/db/rpc/twice"]) {
      const body = line.startsWith("POST") ? { sql: "select 1" } : undefined
      assertRefused(await onBranch(service, id, line, body), 409, "BRANCH_RESTORING")
    }
    assert.deepStrictEqual((await call(`DELETE /api/branches/${id}`)).json, { success: true })
    const refused = await creation
    if (refused === undefined) throw new Error("The request was cut off")
    assert.match(String(assertRefused(refused, 503, "BRANCH_DUMP_FAILED")["details"]), /Cancelled/)
    assert.deepStrictEqual(await leftOf([name]), [])
    assert.deepStrictEqual(await readdir(join(service.dataDir, "backups")), [])
  })

  it("leave nothing behind when the service is killed during a dump", async () => {
    const first = await start("dump")
    await using other = await connectOther()
    try {
      const { creation, name } = await startFilling(first, other)
      await first.stop("SIGKILL")
      await creation
      await other.query("rollback")
      await using second = await start("auto", first.dataDir)
      const left = await until(
        () => leftOf([name]),
        ({ length }) => length === 0,
        20_000
      )
      assert.deepStrictEqual(left, [])
      const rows = await until(
        () => branchesOf(second),
        (all) => !all.some((branch) => branch["name"] === name),
        20_000
      )
      assert.notInclude(JSON.stringify(rows), name)
      assert.deepStrictEqual(await readdir(join(first.dataDir, "backups")), [])
    } finally {
      await first[Symbol.asyncDispose]()
    }
  })
})
