import { open, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { asLogin, makeBranch, onBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type Service, startService, until } from "../../support/service.ts"

/** A service whose own server allows prepared transactions. */
let service: Service
/** Connection URL of a superuser of that server. */
let superuserUrl: string
beforeAll(async () => {
  const first = await startService()
  await sql(first, "alter system set max_prepared_transactions = 5")
  await first.stop()
  service = await startService({ dataDir: first.dataDir })
  await sql(service, "create table notes (id int)")
  await sql(service, "create role boss superuser login password 'secret'")
  const { connection } = await makeBranch(service)
  const url = new URL(toDatabase(connection, "postgres"))
  ;[url.username, url.password] = ["boss", "secret"]
  superuserUrl = url.href
  return async () => {
    await service.stop()
    await first[Symbol.asyncDispose]()
  }
})

const asSuperuser = async (database: string, ...statements: ReadonlyArray<string>) => {
  const done = await asLogin(toDatabase(superuserUrl, database), ...statements)
  if (typeof done === "string") throw new Error(done)
  return done
}
const create = (at: Service) => ask(at, "POST /api/branches", { key: at.service_role, body: { label: "a branch" } })
const remove = (at: Service, id: number) => ask(at, `DELETE /api/branches/${id}`, { key: at.service_role })
const leftOf = (name: string) =>
  asSuperuser(
    "postgres",
    `select datname as name from pg_database where datname = '${name}'
     union all select rolname from pg_roles where rolname ~ '^${name}'`
  )

describe("a branch", () => {
  it("is rejected while the source has prepared transactions, without making clients wait", async () => {
    await asSuperuser("postgres", "begin", "insert into notes values (1)", "prepare transaction 'two phases'")
    const from = performance.now()
    const refused = assertRefused(await create(service), 503, "BRANCH_SOURCE_BUSY")
    assert.match(String(refused["hint"]), /pg_prepared_xacts/)
    assert.isBelow(performance.now() - from, 3_000)
    await asSuperuser("postgres", "commit prepared 'two phases'")
    assert.strictEqual((await create(service)).status, 201)
  })

  it("is rejected when the disk is too full, and leaves nothing behind", async () => {
    const before = await asSuperuser("postgres", "select count(*)::int as n from pg_database")
    const [place] = await asSuperuser("postgres", "select oid::text as oid from pg_database where datname = 'postgres'")
    const postgres = join(service.dataDir, "postgres")
    // A sparse file: the database is larger than the disk, but takes no space on it.
    const sparseFile = join(postgres, "base", String(place?.["oid"]), "987654321")
    const { bavail, bsize } = await statfs(postgres)
    const file = await open(sparseFile, "w")
    try {
      // Other tests free space meanwhile: less than as much as is free now.
      await file.truncate(2 * bavail * bsize + 1024 ** 3)
      const refused = assertRefused(await create(service), 503, "BRANCH_NO_SPACE")
      assert.match(String(refused["details"]), /^The database has \d+ bytes, and \d+ bytes are free on the disk$/)
      assert.deepStrictEqual(await asSuperuser("postgres", "select count(*)::int as n from pg_database"), before)
      // A full disk has no space for a record either, so nothing may be written before the check.
      const locked = asSuperuser(
        "postgres",
        "begin",
        "lock table svc.branches in exclusive mode",
        "select pg_sleep(3)",
        "commit"
      )
      const isLocked = () => sql(service, "select from pg_locks where relation = 'svc.branches'::regclass and granted")
      await until(isLocked, ({ length }) => length > 0)
      const from = performance.now()
      assertRefused(await create(service), 503, "BRANCH_NO_SPACE")
      assert.isBelow(performance.now() - from, 2_500)
      await locked
      assert.deepStrictEqual(await sql(service, "select from svc.branches where status <> 'active'"), [])
    } finally {
      await file.close()
      await rm(sparseFile, { force: true })
    }
    assert.strictEqual((await create(service)).status, 201)
  })

  it("is dropped with everything in it, such as prepared transactions", async () => {
    const { connection, database_name, id } = await makeBranch(service)
    await asLogin(connection, "begin", "insert into notes values (1)", "prepare transaction 'its own'")
    await asSuperuser(database_name, "begin", "insert into notes values (1)", "prepare transaction 'a \"quoted'' one'")
    assert.strictEqual((await asSuperuser(database_name, "select from pg_prepared_xacts")).length, 2)
    assert.strictEqual((await remove(service, id)).status, 200)
    assert.deepStrictEqual(await leftOf(database_name), [])
    assert.deepStrictEqual(await asSuperuser("postgres", "select from pg_prepared_xacts"), [])
  })

  it("is deleted immediately, even if dropping its database must be retried", async () => {
    // A login that can't roll back the prepared transactions of a superuser.
    await asSuperuser("postgres", "create role keeper login createrole createdb password 'secret'")
    await asSuperuser("postgres", "grant anon, authenticated to keeper with admin option")
    await asSuperuser("postgres", "create database kept owner keeper")
    const url = new URL(toDatabase(superuserUrl, "kept"))
    url.username = "keeper"
    assert.isArray(await asLogin(url.href, "create schema app"))
    const env = { DATABASE_URL: url.href, SVC_SERVICE_ROLE: "keeper", SVC_DB_SCHEMAS: "app" }
    await using kept = await startService({ env })
    const { connection, database_name, id } = await makeBranch(kept)
    await asLogin(connection, "begin", "create table app.mine (id int)", "prepare transaction 'its own'")
    await asSuperuser(database_name, "begin", "create table app.theirs (id int)", "prepare transaction 'theirs'")
    assert.match(
      String(assertRefused(await remove(kept, id), 503, "BRANCH_IN_USE")["details"]),
      /being accessed|in use|used by/
    )
    assertRefused(await onBranch(kept, id, "GET /v1/database/schema"), 404, "BRANCH_NOT_FOUND")
    assertRefused(await remove(kept, id), 404, "BRANCH_NOT_FOUND")
    assert.isNotEmpty(await leftOf(database_name))

    await asSuperuser(database_name, "rollback prepared 'theirs'")
    const left = await until(
      () => leftOf(database_name),
      ({ length }) => length === 0,
      30_000
    )
    assert.deepStrictEqual(left, [])
    assert.deepStrictEqual(await asSuperuser("postgres", "select from pg_prepared_xacts"), [])
  })
})
