import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { backupsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { type BranchId } from "../../../src/domain/branches/Branch.ts"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { layerOn, on, onServer, withDatabase } from "../../support/branches/database.ts"
import { databaseContent } from "../../support/dumps/content.ts"
import { clientOn, directory, filesIn, lockTable } from "../../support/dumps/databases.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"
import { eventually } from "../../support/eventually.ts"

/** The content that a branch must share with its source. */
const contentOf = (login: Login, database: string) =>
  Effect.promise(async () => {
    const { userMappings, ...content } = await databaseContent({ ...login, database }, ["svc", "svc_ddl"])
    return {
      userMappings,
      content: {
        ...content,
        // The branch's role has the same default privileges as the service's.
        defaultRights: [...new Set(content["defaultRights"])],
        // A dump sorts options.
        servers: content["servers"]?.map((line) => line.split(/[[\],]/).sort())
      }
    }
  })

const tableOf = (database: string) => on(database, "select oid::int from pg_class where relname = 'notes'")

it.live(
  "a branch by dump equals its source, whose clients and transactions are unaffected",
  () =>
    Effect.gen(function* () {
      const dumps = yield* directory
      yield* withDatabase(
        "branch_dumped",
        (database, login) =>
          Effect.gen(function* () {
            const branches = yield* Branches
            yield* on(database, everythingSql)
            const client = yield* clientOn(database)
            yield* Effect.promise(() => client.query("begin; select lo_from_bytea(0, 'not yet there')"))
            const branch = yield* branches.create({ label: "by dump", ttlHours: 1 })
            assert.deepInclude(branch, { status: "active", source_backup_id: null, ttl_hours: 1 })
            yield* Effect.promise(() => client.query("rollback"))

            const source = yield* contentOf(login, database)
            const copy = yield* contentOf(login, branch.database_name)
            assert.deepStrictEqual(copy.content, source.content)
            assert.isNotEmpty(source.userMappings)
            assert.deepStrictEqual(copy.userMappings, [])
            assert.deepStrictEqual(
              (yield* branches.list).map(({ id }) => id),
              [branch.id]
            )
            assert.deepStrictEqual(yield* filesIn(dumps), [])
          }),
        { settings: { SVC_BRANCH_STRATEGY: "dump", SVC_BACKUP_DIR: dumps } }
      )
    }).pipe(Effect.scoped),
  60_000
)

it.live(
  "auto copies a database without other sessions, and dumps one whose sessions may not be terminated",
  () =>
    Effect.gen(function* () {
      const dumps = yield* directory
      const settings = { SVC_BRANCH_STRATEGY: "auto", SVC_BRANCH_END_SESSIONS: "false", SVC_BACKUP_DIR: dumps }
      yield* withDatabase(
        "branch_auto",
        (database) =>
          Effect.gen(function* () {
            const branches = yield* Branches
            yield* on(database, "create table notes as select n from generate_series(1, 10) n")
            const copied = yield* branches.create({ label: "a copy" })
            // A copy has the files of its source, and therefore its oids.
            assert.deepStrictEqual(yield* tableOf(copied.database_name), yield* tableOf(database))

            const client = yield* clientOn(database)
            const dumped = yield* branches.create({ label: "a dump" })
            assert.notDeepEqual(yield* tableOf(dumped.database_name), yield* tableOf(database))
            assert.deepStrictEqual(yield* on(dumped.database_name, "select count(*)::int as n from notes"), [{ n: 10 }])
            assert.strictEqual((yield* Effect.promise(() => client.query("select 1"))).rowCount, 1)
          }),
        { settings }
      )
    }).pipe(Effect.scoped),
  60_000
)

it.live(
  "a dump that fails or whose caller disconnects leaves no branch, no file and no session",
  () =>
    Effect.gen(function* () {
      const dumps = yield* directory
      const options = { settings: { SVC_BRANCH_STRATEGY: "dump", SVC_BACKUP_DIR: dumps } }
      yield* withDatabase(
        "branch_undumped",
        (database, login) =>
          Effect.gen(function* () {
            const branches = yield* Branches
            yield* on(database, "create table held (id int)")
            const other = yield* Layer.build(Layer.fresh(layerOn(login)))
            /** Sessions of dumps that wait for the table, whose name is behind what PostgreSQL shows of the statement. */
            const waiting = on(
              database,
              `select pid from pg_stat_activity
               where datname = current_database() and query ~* '^lock table' and wait_event_type = 'Lock'`
            )
            const dumping = eventually(waiting, ({ length }) => length > 0)
            const nothingLeft = Effect.gen(function* () {
              assert.deepStrictEqual(yield* on(database, "select from svc.branches"), [])
              assert.deepStrictEqual(yield* filesIn(dumps), [])
              yield* eventually(waiting, ({ length }) => length === 0)
            })

            yield* Effect.gen(function* () {
              yield* lockTable(database, "held")
              // The caller disconnects.
              const leaving = yield* Effect.forkChild(branches.create({ label: "never" }))
              yield* dumping
              yield* Fiber.interrupt(leaving)
              yield* nothingLeft
              // The branch is dropped; until then it rejects clients.
              const dropped = yield* Effect.forkChild(branches.create({ label: "never" }))
              yield* dumping
              const [row] = yield* on(database, "select id from svc.branches")
              const id = row?.["id"] as BranchId
              assert.strictEqual((yield* Effect.flip(branches.database(id, "service_role"))).code, "BRANCH_RESTORING")
              // A copy is rejected during a dump.
              const copying = Effect.flatMap(Branches, ({ create }) => create({ label: "never" }))
              const busy = yield* Effect.flip(Effect.provideContext(copying, other))
              assert.deepInclude(busy, { code: "BRANCH_SOURCE_BUSY", details: "The database is being backed up" })
              yield* branches.remove(id)
              const failure = yield* Effect.flip(Fiber.join(dropped))
              assert.strictEqual(failure.code, "BRANCH_DUMP_FAILED")
              yield* nothingLeft
              // The dump's session is terminated.
              const failing = yield* Effect.forkChild(branches.create({ label: "never" }))
              const [session] = yield* dumping
              yield* onServer(`select pg_terminate_backend(${String(session?.["pid"])})`)
              assert.strictEqual((yield* Effect.flip(Fiber.join(failing))).code, "BRANCH_DUMP_FAILED")
              yield* nothingLeft
              // The same, of a creation for which no caller waits.
              const started = yield* branches.start({ label: "never" })
              assert.deepInclude(started, { status: "restoring", progress: null })
              const [again] = yield* dumping
              yield* eventually(branches.find(started.id), ({ progress }) => progress === 0)
              assert.deepStrictEqual(
                [(yield* branches.list).length, (yield* branches.listAll).map(({ label }) => label)],
                [0, ["never"]]
              )
              yield* onServer(`select pg_terminate_backend(${String(again?.["pid"])})`)
              const gone = yield* eventually(Effect.flip(branches.find(started.id)), () => true)
              assert.match(String(gone.details), /^It was not created: /)
              yield* eventually(on(database, "select from svc.branches"), ({ length }) => length === 0)
              yield* nothingLeft
            }).pipe(Effect.scoped)
            // The advisory lock of dumps is released.
            const locks = yield* on(
              database,
              `select from pg_locks where locktype = 'advisory' and objid = ${backupsLock} % 4294967296
                 and database = (select oid from pg_database where datname = current_database())`
            )
            assert.deepStrictEqual(locks, [])
          }),
        options
      )
    }).pipe(Effect.scoped),
  120_000
)

it.live(
  "old dumps of a killed service are removed, but no recent ones and no other files",
  () =>
    Effect.gen(function* () {
      const dumps = yield* directory
      const old = ["svc_branch_0123456789ab.dump", "svc_branch_0123456789ab.dump.partial"]
      const kept = ["svc_branch_ba9876543210.dump", "svc_branch_0123456789ab.txt", "20261121T030000Z-0123456789ab.dump"]
      yield* Effect.promise(async () => {
        for (const name of [...old, ...kept]) await writeFile(join(dumps, name), "a dump")
        const at = Date.now() / 1000 - 2 * 3600 - 60
        for (const name of [...old, ...kept.slice(1)]) await utimes(join(dumps, name), at, at)
      })
      yield* withDatabase(
        "branch_dumps_old",
        () =>
          eventually(filesIn(dumps), (names) => names.length === kept.length).pipe(
            Effect.map((names) => assert.sameMembers(names, kept))
          ),
        { settings: { SVC_BACKUP_DIR: dumps, SVC_BACKUP_TIMEOUT: "1h" } }
      )
    }).pipe(Effect.scoped),
  60_000
)
