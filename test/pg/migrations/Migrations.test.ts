import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { Migrations } from "../../../src/services/migrations/Migrations.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { filesDirectory, layerMigrations, writeFiles } from "../../support/migrations/directory.ts"

type Files = Readonly<Record<string, string>>

const ask = (text: string) => Effect.flatMap(Outside, ({ sql }) => sql(text))
const one = (text: string) => Effect.map(ask(text), ([row]) => Object.values(row ?? {})[0])
const exists = (table: string) => one(`select to_regclass('${table}') is not null`)
const recorded = Effect.map(ask("select name from svc.applied_migrations order by applied_at, name"), (rows) =>
  rows.map((row) => row["name"])
)

/** Runs a directory of these files; all tests share one history, so names must be unique. */
const run = (files: Files, timeout?: number) =>
  Effect.flatMap(filesDirectory(files), (directory) => runDirectory(directory, timeout))
const runDirectory = (directory: string, timeout?: number) =>
  Effect.flatMap(Migrations, (migrations) => migrations.run).pipe(
    Effect.provide(layerMigrations(directory, timeout === undefined ? {} : { timeout }))
  )
const refused = (files: Files, timeout?: number) =>
  Effect.map(Effect.flip(run(files, timeout)), (error) => ({
    ...error,
    details: error.details as Record<string, unknown>
  }))

const suite = layer(layerDatabase({ name: "migrations" }), live)

suite("a run", (it) => {
  it.effect("runs each file once, in order, and files that are added later", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({
        "02_b.sql": "insert into run_a select 2;",
        "1_a.sql": "create table run_a (n int); insert into run_a values (1);",
        "10_c.sql": "insert into run_a select max(n) + 1 from run_a"
      })
      const first = yield* runDirectory(directory)
      assert.deepStrictEqual(first.ran, ["1_a", "02_b", "10_c"])
      assert.deepInclude(first, { tool: null, table: "svc.applied_migrations" })
      assert.match(first.migrations[0]?.applied_at ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.deepStrictEqual(yield* ask("select n from run_a"), [{ n: 1 }, { n: 2 }, { n: 3 }])
      const second = yield* runDirectory(directory)
      assert.deepStrictEqual(second, { ...first, ran: [] })
      // A file older than the last one is run as well.
      yield* Effect.promise(() => writeFiles(directory, { "03_late.sql": "insert into run_a values (4)" }))
      assert.deepStrictEqual((yield* runDirectory(directory)).ran, ["03_late"])
      yield* Effect.promise(() => writeFiles(directory, { "1_a.sql": "select 1" }))
      assert.deepInclude(yield* Effect.flip(runDirectory(directory)), { code: "MIGRATION_MODIFIED", details: ["1_a"] })
    })
  )

  it.effect("accepts files of every form", () =>
    Effect.gen(function* () {
      const text =
        "create function shape_f() returns text language plpgsql as $f$ begin return $$;--$$; end $f$;\ncomment on function shape_f() is '$1; it''s';"
      const { ran } = yield* run({
        "shape_1_empty.sql": "",
        "shape_2_comments.sql": "-- nothing\n/* ; */\n",
        "shape_3_dollars.sql": text,
        "shape_4_crlf.sql": "create table shape_t (a text);\r\ninsert into shape_t values ('x\r\ny');\r\n",
        "shape_5_mark.sql": "\uFEFFcreate table shape_mark ()",
        "shape_6_wrapped.sql": "BEGIN;\ncreate table shape_wrapped ();\nCOMMIT;",
        "shape_7_rows.sql": "select generate_series(1, 300000), repeat('x', 500); table shape_t",
        "shape_8_ü'\".sql": "create table shape_name ()"
      })
      assert.strictEqual(ran.length, 8)
      assert.strictEqual(yield* one("select shape_f()"), ";--")
      assert.strictEqual(yield* one("select obj_description('shape_f()'::regprocedure)"), "$1; it's")
      assert.strictEqual(yield* one("select a from shape_t"), "x\r\ny")
      assert.isTrue(yield* exists("shape_wrapped"))
      assert.isTrue(yield* exists("shape_mark"))
    })
  )

  it.effect("does not depend on what a file leaves in its session", () =>
    Effect.gen(function* () {
      yield* ask("create role mig_nobody nologin; create schema mig_other")
      const { ran } = yield* run({
        "session_1.sql": "select set_config('search_path', '', false); set role mig_nobody; set statement_timeout = 1",
        "session_2.sql": "create table session_t (); select pg_sleep(0.05)",
        "session_3.sql": "-- svc: no transaction\nset search_path = mig_other; set session authorization mig_nobody",
        "session_4.sql": "create table session_u ()"
      })
      assert.strictEqual(ran.length, 4)
      for (const table of ["session_t", "session_u"]) assert.isTrue(yield* exists(`public.${table}`))
    })
  )

  it.effect("creates tables that the row API serves at once", () =>
    Effect.gen(function* () {
      const { main } = yield* Db
      const { get } = yield* Catalogues
      yield* get(main)
      yield* ask("alter event trigger svc_ddl disable")
      yield* run({ "seen.sql": "create table seen_t (id int)" })
      assert.isDefined((yield* get(main)).relation("public", "seen_t"))
      yield* Effect.flip(run({ "seen_1.sql": "alter table seen_t add b int", "seen_2.sql": "select 1/0" }))
      assert.include(JSON.stringify((yield* get(main)).relation("public", "seen_t")), `"b"`)
      yield* ask("alter event trigger svc_ddl enable always")
    })
  )

  it.effect("runs 500 files in a reasonable time", () =>
    Effect.gen(function* () {
      const files = Array.from({ length: 500 }, (_, i) => [`many_${i}.sql`, `create table many_${i} ()`] as const)
      const directory = yield* filesDirectory(Object.fromEntries(files))
      assert.strictEqual((yield* runDirectory(directory)).ran.length, 500)
      assert.strictEqual(yield* one("select count(*)::int from pg_class where relname like 'many%'"), 500)
      const again = yield* runDirectory(directory)
      assert.deepInclude(again.summary, { applied: 500, pending: 0 })
      assert.deepStrictEqual(again.ran, [])
    })
  )
})

suite("a failure", (it) => {
  it.effect("within a file rolls back that file, keeps those before, and reports where", () =>
    Effect.gen(function* () {
      const failing =
        "create table fail_b ();\n\n-- '\ninsert into fail_a values (length('😀')),\n  (length('😀') + wrong);\ncreate table fail_c ()"
      const files = {
        "fail_1.sql": "create table fail_a (n int)",
        "fail_2.sql": failing,
        "fail_3.sql": "create table fail_d ()"
      }
      const directory = yield* filesDirectory(files)
      const error = yield* Effect.flip(runDirectory(directory))
      assert.deepInclude(error, { _tag: "Unprocessable", code: "MIGRATION_FAILED" })
      assert.strictEqual(error.error, `fail_2.sql:5: column "wrong" does not exist`)
      assert.deepStrictEqual(error.details, {
        migration: "fail_2",
        file: "fail_2.sql",
        applied: ["fail_1"],
        line: 5,
        sqlstate: "42703",
        detail: null
      })
      assert.deepStrictEqual(
        [yield* exists("fail_a"), yield* exists("fail_b"), yield* exists("fail_d")],
        [true, false, false]
      )
      assert.include(yield* recorded, "fail_1")
      assert.notInclude(yield* recorded, "fail_2")
      yield* Effect.promise(() => writeFiles(directory, { "fail_2.sql": "create table fail_b ()" }))
      assert.deepStrictEqual((yield* runDirectory(directory)).ran, ["fail_2", "fail_3"])
    })
  )

  it.effect.each([
    ["syntax", "create table x ();\n\ncreat table y ()", 3, "42601"],
    ["no_position", "create table x (n int);\n\ninsert into x values (1);\ninsert into x\n  select 1 / 0", 4, "22012"],
    ["body", "select 1;\ndo $$\nbegin\n  raise exception 'no';\nend $$", 2, "P0001"],
    ["commit_inside", "select 1;\ndo $$ begin commit; end $$", 2, "2D000"],
    ["concurrently", "create table x (n int);\ncreate index concurrently on x (n)", 2, "25001"],
    [
      "at_commit",
      "create table x (n int unique deferrable initially deferred);\ninsert into x values (1), (1)",
      null,
      "23505"
    ]
  ] as const)("of a special kind is reported: %s", ([name, text, line, sqlstate]) =>
    Effect.gen(function* () {
      const error = yield* refused({ [`kind_${name}.sql`]: text })
      assert.strictEqual(error.code, "MIGRATION_FAILED")
      assert.deepInclude(error.details, { line, sqlstate, applied: [] })
      if (name === "concurrently")
        assert.include((error as { hint?: string | null }).hint ?? "", "-- svc: no transaction")
      assert.isFalse(yield* exists("x"))
    })
  )

  it.effect("is found before the first file runs where possible", () =>
    Effect.gen(function* () {
      for (const text of [
        "begin;\nselect 1",
        "create table y ();\ncopy y from stdin;\n",
        "-- migrate:down\nselect 1",
        "a\0b"
      ]) {
        const error = yield* refused({ "before_1.sql": "create table before_t ()", "before_2.sql": text })
        assert.strictEqual(error._tag, "Unprocessable", text)
        assert.match(error.code, /^MIGRATION_(NOT_RUNNABLE|UNREADABLE)$/)
        assert.match(error.error, /^before_2\.sql:/)
      }
      assert.isFalse(yield* exists("before_t"))
    })
  )

  it.effect("of the connection leaves nothing, and names the file", () =>
    Effect.gen(function* () {
      const files = {
        "lost_1.sql": "create table lost_a ()",
        "lost_2.sql": "create table lost_b ();\nselect pg_terminate_backend(pg_backend_pid())"
      }
      const error = yield* refused(files)
      assert.deepInclude(error, { _tag: "Unavailable", code: "DATABASE_UNAVAILABLE" })
      assert.deepStrictEqual(error.details, { migration: "lost_2", file: "lost_2.sql", applied: ["lost_1"] })
      assert.deepStrictEqual([yield* exists("lost_a"), yield* exists("lost_b")], [true, false])
      yield* ask("drop table lost_a")
    })
  )

  it.effect("to record it rolls back the file", () =>
    Effect.gen(function* () {
      const error = yield* refused({
        "unwritten.sql": "create table unwritten_t ();\ndrop table svc.applied_migrations"
      })
      assert.deepInclude(error.details, { sqlstate: "42P01", line: null })
      assert.isFalse(yield* exists("unwritten_t"))
      yield* recorded
    })
  )

  it.effect("that a retry may avoid is a conflict: a lock, a statement that takes too long", () =>
    Effect.gen(function* () {
      const slow = yield* refused({ "slow.sql": "select pg_sleep(20)" }, 200)
      assert.deepInclude(slow, { _tag: "Conflict", code: "MIGRATION_FAILED" })
      assert.deepInclude(slow.details, { sqlstate: "57014" })
      yield* ask("create table locked_t ()")
      yield* ask("begin; lock table locked_t")
      const locked = yield* Effect.ensuring(
        refused({ "locked.sql": "set local lock_timeout = '100ms';\nalter table locked_t add b int" }),
        ask("rollback")
      )
      assert.deepInclude(locked, { _tag: "Conflict" })
      assert.deepInclude(locked.details, { sqlstate: "55P03", line: 2 })
    })
  )
})

suite("outside a transaction", (it) => {
  it.effect("a file that requests it runs statement by statement", () =>
    Effect.gen(function* () {
      yield* run({
        "out_1.sql": "create table out_t (n int)",
        "out_2.sql": "-- svc: no transaction\ncreate index concurrently out_i on out_t (n);\nvacuum out_t"
      })
      assert.isTrue(yield* one("select indisvalid from pg_index where indexrelid = 'out_i'::regclass"))
    })
  )

  it.effect("a failure keeps the statements before, reports that, and is not recorded", () =>
    Effect.gen(function* () {
      const error = yield* refused({
        "kept.sql":
          "-- svc: no transaction\ncreate table kept_a ();\n\ncreate table kept_b (n int);\ninsert into kept_b\n  values (wrong);\n"
      })
      assert.deepInclude(error, { _tag: "Unprocessable", code: "MIGRATION_FAILED" })
      assert.deepInclude(error.details, { line: 6, sqlstate: "42703", kept: 2 })
      assert.isTrue(yield* exists("kept_b"))
      assert.notInclude(yield* recorded, "kept")
      const inside = yield* refused({
        "kept_2.sql": "-- svc: no transaction\nselect 1; begin; select 2; select wrong; commit"
      })
      assert.deepInclude(inside.details, { kept: 1 })
      // Once the file is repeatable, it succeeds.
      yield* run({
        "kept.sql":
          "-- svc: no transaction\ncreate table if not exists kept_a ();\nbegin; insert into kept_b values (1); commit;"
      })
      assert.strictEqual(yield* one("select n from kept_b"), 1)
    })
  )
})

suite("two runs", (it) => {
  it.effect("at once run each file once", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({
        "two_1.sql": "create table two_t (n int); select pg_sleep(0.3)",
        "two_2.sql": "insert into two_t values (1)"
      })
      // As in two processes, only the database is shared.
      const [a, b] = yield* Effect.all([runDirectory(directory), runDirectory(directory)], { concurrency: 2 })
      assert.deepStrictEqual([a.ran.length, b.ran.length].sort(), [0, 2])
      assert.strictEqual(yield* one("select count(*)::int from two_t"), 1)
    })
  )

  it.effect("in one process wait for each other too", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ "same.sql": "create table same_t (); select pg_sleep(0.3)" })
      const ran = yield* Effect.gen(function* () {
        const migrations = yield* Migrations
        return yield* Effect.forEach(Array.from({ length: 12 }), () => migrations.run, { concurrency: "unbounded" })
      }).pipe(Effect.provide(layerMigrations(directory)))
      assert.strictEqual(ran.flatMap((each) => each.ran).length, 1)
    })
  )

  it.effect("wait at most ten seconds, for the service and for Prisma", () =>
    Effect.gen(function* () {
      yield* ask("select pg_advisory_lock(72707369)") // as prisma migrate does
      const waiting = refused({ "busy.sql": "select 1" })
      const both = Effect.all([waiting, waiting], { concurrency: 2 })
      for (const error of yield* Effect.ensuring(both, ask("select pg_advisory_unlock(72707369)"))) {
        assert.deepInclude(error, { _tag: "Conflict", code: "MIGRATIONS_BUSY" })
      }
      // The runs that timed out released their locks.
      assert.deepStrictEqual((yield* run({ "busy.sql": "select 1" })).ran, ["busy"])
    })
  )

  it.effect("continue when the caller disconnects", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ "left.sql": "create table left_t (); select pg_sleep(0.6)" })
      yield* Effect.gen(function* () {
        const migrations = yield* Migrations
        const caller = yield* Effect.forkChild(migrations.run)
        yield* Effect.sleep(200)
        yield* Fiber.interrupt(caller)
        assert.notInclude(yield* recorded, "left")
        assert.deepStrictEqual((yield* migrations.run).ran, [])
        assert.isTrue(yield* exists("left_t"))
      }).pipe(Effect.provide(layerMigrations(directory)))
    })
  )

  it.effect("roll back the current file and release the lock when the service ends", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({
        "ended_1.sql": "create table ended_a ()",
        "ended_2.sql": "create table ended_b (); select pg_sleep(15)"
      })
      yield* Effect.gen(function* () {
        const migrations = yield* Migrations
        yield* Effect.forkChild(migrations.run)
        yield* Effect.sleep(500)
      }).pipe(Effect.provide(layerMigrations(directory)))
      assert.deepStrictEqual([yield* exists("ended_a"), yield* exists("ended_b")], [true, false])
      yield* Effect.promise(() => writeFiles(directory, { "ended_2.sql": "create table ended_b ()" }))
      assert.deepStrictEqual((yield* runDirectory(directory)).ran, ["ended_2"])
    })
  )
})
