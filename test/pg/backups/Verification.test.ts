import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { DumpFailed, type RestoreTarget } from "../../../src/services/ports/DumpTools.ts"
import { filesIn } from "../../support/backups/backups.ts"
import { verifyingBackups } from "../../support/backups/verified.ts"
import { on, onServer, withDatabase } from "../../support/branches/database.ts"
import { place } from "../../support/dumps/native.ts"
import { eventually } from "../../support/eventually.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"

const patience = 120_000

const rows = [
  "create table notes (id int primary key, t text)",
  "insert into notes select n, 'note ' || n from generate_series(1, 500) n"
]

/** Databases and roles of branches of this service that are left, with the records. */
const left = (database: string) =>
  Effect.gen(function* () {
    const records = yield* on(database, "select database_name as name from svc.branches")
    return [
      ...records,
      ...(yield* onServer("select datname as name from pg_database where datname ~ '^svc_branch_'")).filter(
        ({ name }) => records.some((record) => record["name"] === name)
      )
    ]
  })

for (const [kind, settings] of [
  ["the built-in pg_dump", { PG_BIN_DIR: "/nonexistent", PATH: "" }],
  ["pg_dump", { PG_BIN_DIR: place ?? "" }]
] as const) {
  it.live.skipIf(kind === "pg_dump" && place === undefined)(
    `a backup of ${kind} passes when everything is restored, and nothing is left`,
    () =>
      withDatabase("verify_passes", (database, login) =>
        Effect.gen(function* () {
          // Its event trigger raises.
          yield* on(database, ...rows, everythingSql)
          const { backups, directory, settled } = yield* verifyingBackups(login, { settings })
          const made = yield* backups.create({ label: "whole" })
          const done = yield* settled(made.id)
          assert.strictEqual(done.verify_error, null)
          assert.strictEqual(done.verification, "passed")
          assert.closeTo(Date.parse(done.verified_at ?? ""), Date.now(), 60_000)
          assert.deepStrictEqual(yield* left(database), [])
          assert.lengthOf(yield* filesIn(directory), 2)
        })
      ),
    patience
  )
}

it.live(
  "what differs is on the record: rows that are missing or changed, and objects",
  () =>
    withDatabase("verify_differs", (database, login) =>
      Effect.gen(function* () {
        yield* on(
          database,
          ...rows,
          "create table tags (t text)",
          "insert into tags values ('a')",
          "create index i on tags (t)"
        )
        const { backups, settled } = yield* verifyingBackups(login, {
          tool: (real) => ({
            restore: (file, target, onProgress) =>
              Effect.andThen(
                real.restore(file, target, onProgress),
                on(
                  target.database,
                  "delete from notes where id = 7",
                  "update tags set t = 'b'",
                  "drop index i",
                  "create view v as select 1"
                )
              )
          })
        })
        const done = yield* settled((yield* backups.create({ label: "not whole" })).id)
        assert.strictEqual(done.status, "completed")
        assert.strictEqual(done.verification, "failed")
        assert.isNotNull(done.verified_at)
        assert.deepStrictEqual(done.verify_error?.split("; ").sort(), [
          "not restored as it was: CREATE INDEX i ON public.tags USING btree (t)",
          'restored as: CREATE VIEW public.v AS SELECT 1 AS "?column?"',
          "rows of table public.tags differ",
          "table public.notes has 499 rows in place of 500"
        ])
        assert.deepStrictEqual(yield* left(database), [])
      })
    ),
  patience
)

it.live(
  "what can't be restored is said when the backup is made, and by its verification",
  () =>
    withDatabase("verify_warns", (database, login) =>
      Effect.gen(function* () {
        yield* on(
          database,
          "create function low(text) returns text language internal immutable as 'lower'",
          "create function high(a int) returns int language sql leakproof as 'select a'",
          "create function entered() returns event_trigger language plpgsql as $$ begin end $$",
          "create event trigger entered on login execute function entered()",
          "create subscription theirs connection 'host=127.0.0.1 password=theirs' publication p with (connect = false)"
        )
        const { backups, settled } = yield* verifyingBackups(login)
        const done = yield* settled((yield* backups.create({ label: "with a C function" })).id)
        yield* on(
          database,
          "drop event trigger entered",
          "alter subscription theirs disable",
          "alter subscription theirs set (slot_name = none)",
          "drop subscription theirs"
        )
        assert.deepStrictEqual(done.warnings, [
          "function public.high(integer) is LEAKPROOF: a restore fails: only a superuser may create it",
          "function public.low(text) in the language internal: a restore fails: only a superuser may create it",
          "subscription theirs is not restored: it would use the slot of this one",
          "event trigger entered is not restored: the service logs in, too"
        ])
        assert.strictEqual(done.verification, "failed")
        assert.match(
          done.verify_error ?? "",
          /only superuser can define a leakproof function|permission denied for language/
        )
      })
    ),
  patience
)

it.live(
  "a verification is skipped where the disk has too little space, and stops when that runs out",
  () =>
    withDatabase("verify_space", (database, login) =>
      Effect.gen(function* () {
        yield* on(database, ...rows)
        let free: number | undefined = 1024 * 1024 * 1024
        const begun = yield* Deferred.make<void>()
        const { backups, settled } = yield* verifyingBackups(login, {
          branches: { room: Effect.sync(() => ({ size: 1_000_000, free })) },
          tool: () => ({ restore: () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never) })
        })
        const skipped = yield* settled((yield* backups.create({ label: "full" })).id)
        assert.deepInclude(skipped, { status: "completed", verification: "skipped", verified_at: null })
        assert.include(skipped.verify_error, "1075741824 bytes of free space")
        free = 2 * 1024 * 1024 * 1024
        const second = yield* backups.create({ label: "fills up" })
        yield* Deferred.await(begun)
        free = 1_000
        const stopped = yield* settled(second.id)
        assert.deepInclude(stopped, { verification: "skipped", verified_at: null })
        assert.include(stopped.verify_error, "stopped, ")
        assert.deepStrictEqual(yield* left(database), [])
      })
    ),
  patience
)

it.live(
  "while it is verified, the database is in no list, closed to clients, and dropped when the service ends; then it is resumed",
  () =>
    withDatabase("verify_ends", (database, login) =>
      Effect.gen(function* () {
        yield* on(database, ...rows)
        const begun = yield* Deferred.make<RestoreTarget>()
        const first = yield* verifyingBackups(login, {
          tool: () => ({ restore: (_, target) => Effect.andThen(Deferred.succeed(begun, target), Effect.never) })
        })
        const made = yield* first.backups.create({ label: "x".repeat(100) })
        assert.strictEqual(made.label, "x".repeat(100))
        const target = yield* Deferred.await(begun)
        const branches = yield* Branches
        assert.deepStrictEqual(yield* branches.listAll, [])
        const [record] = yield* on(database, "select id from svc.branches where temporary")
        for (const refused of [
          branches.find(record?.["id"]),
          branches.remove(record?.["id"]),
          branches.database(record?.["id"], "service_role")
        ]) {
          assert.strictEqual(
            (yield* Effect.flip(refused as Effect.Effect<unknown, { code: string }>)).code,
            "BRANCH_NOT_FOUND"
          )
        }
        const entry = `select has_database_privilege('anon', '${target.database}', 'connect') as enters`
        assert.deepStrictEqual(yield* onServer(entry), [{ enters: false }])
        yield* branches.sweep
        assert.lengthOf(yield* on(database, "select from svc.branches where status = 'restoring'"), 1)
        // Branches can be made meanwhile.
        const copied = yield* branches.create({ label: "meanwhile" })
        yield* branches.remove(copied.id)
        // Another replica does not begin a second one.
        const sql = yield* SqlClient.SqlClient
        const running = sql.unsafe<{ verification: string }>("select verification from svc.backups")
        assert.deepStrictEqual(yield* running, [{ verification: "running" }])

        yield* first.end(Exit.void)
        assert.deepStrictEqual(yield* running, [{ verification: "waiting" }])
        assert.deepStrictEqual(yield* left(database), [])
      })
    ),
  patience
)

it.live(
  "after kill -9 the database is dropped, and the verification begins again, three times at most",
  () =>
    withDatabase("verify_killed", (database, login) =>
      Effect.gen(function* () {
        yield* on(database, ...rows)
        const sql = yield* SqlClient.SqlClient
        const branches = yield* Branches
        const { backups, settled } = yield* verifyingBackups(login)
        const made = yield* backups.create({ label: "interrupted" })
        assert.strictEqual((yield* settled(made.id)).verification, "passed")

        // As a process leaves them that can't clean up.
        yield* onServer(`create database svc_branch_00${process.pid}00`)
        yield* sql.unsafe(
          `insert into svc.branches (label, database_name, password, status, ttl_hours, temporary)
           values ('left', 'svc_branch_00${process.pid}00', 'x', 'restoring', 0, true)`
        )
        yield* sql.unsafe(
          "update svc.backups set verification = 'running', verify_seen = now() - interval '1 minute', verified_at = null"
        )
        yield* branches.sweep
        assert.deepStrictEqual(
          yield* onServer(`select from pg_database where datname = 'svc_branch_00${process.pid}00'`),
          []
        )
        assert.deepStrictEqual(yield* left(database), [])
        const second = yield* backups.create({ label: "waits" })
        yield* eventually(backups.find(second.id), ({ status }) => status === "completed")
        // The first one may still be under way elsewhere.
        assert.strictEqual((yield* backups.find(second.id)).verification, "waiting")
        yield* sql.unsafe("update svc.backups set verify_seen = now() - interval '4 minutes' where id = $1", [made.id])
        assert.strictEqual((yield* settled(second.id)).verification, "passed")
        assert.strictEqual((yield* settled(made.id)).verification, "passed")

        yield* sql.unsafe(
          `update svc.backups set verification = 'running', verify_attempts = 3, verify_seen = now() - interval '1 hour'
           where id = $1`,
          [made.id]
        )
        assert.include((yield* settled(made.id)).verify_error, "3 times")
      })
    ),
  patience
)

it.live(
  "a connection that breaks is tried again, and then reported",
  () =>
    withDatabase("verify_breaks", (database, login) =>
      Effect.gen(function* () {
        yield* on(database, ...rows)
        let tries = 0
        const { backups, settled } = yield* verifyingBackups(login, {
          tool: (real) => ({
            restore: (...given) =>
              ++tries === 1
                ? Effect.fail(new DumpFailed({ reason: "The connection to the database was lost" }))
                : real.restore(...given)
          })
        })
        const done = yield* settled((yield* backups.create({ label: "twice" })).id)
        assert.strictEqual(done.verification, "passed")
        assert.strictEqual(tries, 2)
      })
    ),
  patience
)
