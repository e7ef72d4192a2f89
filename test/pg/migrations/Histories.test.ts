import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { Migrations } from "../../../src/services/migrations/Migrations.ts"
import { type Database, layerDatabase, Outside } from "../../support/database.ts"
import { filesDirectory, layerMigrations, writeFiles } from "../../support/migrations/directory.ts"
import { drizzleFolder, prismaFolder, supabaseFolder } from "../../support/migrations/folders.ts"
import { drizzle, drizzle1, type MigrationRecord, prisma, prismaUnfinished } from "../../support/migrations/records.ts"

type Tool = "auto" | "drizzle" | "prisma" | "own"
let databases = 0

/** Runs the effect on a database of its own. */
const fresh = <A, E>(effect: Effect.Effect<A, E, Database | Scope.Scope>) =>
  Effect.suspend(() => Effect.scoped(Effect.provide(effect, layerDatabase({ name: `histories_${++databases}` }))))

const on = <A, E>(
  directory: string,
  use: (migrations: Migrations["Service"]) => Effect.Effect<A, E>,
  tool: Tool = "auto"
) => Effect.flatMap(Migrations, use).pipe(Effect.provide(layerMigrations(directory, { tool })))
const status = (directory: string, tool?: Tool) => on(directory, (migrations) => migrations.status, tool)
const run = (directory: string, tool?: Tool) => on(directory, (migrations) => migrations.run, tool)
const refused = (directory: string, tool?: Tool) => Effect.flip(run(directory, tool))

const ask = (text: string) => Effect.flatMap(Outside, ({ sql }) => sql(text))
const columnsOf = (table: string) =>
  Effect.map(
    ask(`select string_agg(attname || ' ' || format_type(atttypid, atttypmod)
           || case when attnotnull then ' not null' else '' end
           || coalesce(' default ' || pg_get_expr(adbin, adrelid), ''), ', ' order by attnum) as columns
         from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
         where attnum > 0 and attrelid = '${table}'::regclass`),
    ([row]) => row?.["columns"]
  )

/** SQL that creates the tool's history after so many of its migrations. */
const history = (record: MigrationRecord, ...done: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    for (const text of record.table) yield* ask(text)
    for (const n of done) {
      const file = Object.entries(record.files).filter(([path]) => path.endsWith(".sql"))[n]?.[1] ?? ""
      yield* ask(file)
      yield* ask(record.rows[n] ?? "")
    }
  })

const states = ({
  migrations
}: {
  readonly migrations: ReadonlyArray<{ readonly name: string; readonly status: string }>
}) => Object.fromEntries(migrations.map(({ name, status }) => [name, status]))

const table = "drizzle.__drizzle_migrations"

describe("Drizzle's", () => {
  it.live("history is detected with each state, and the status writes nothing", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(drizzle, 0, 1)
        const directory = yield* filesDirectory(drizzle.files)
        const before = yield* status(directory)
        assert.deepInclude(before, { tool: "drizzle", table, directory })
        assert.deepStrictEqual(states(before), {
          "0000_init": "applied",
          "0001_born": "applied",
          "0002_seed": "pending"
        })
        assert.deepStrictEqual(before.migrations[1], {
          name: "0001_born",
          status: "applied",
          applied_at: null,
          checksum: "068071399c945bfb713d5998f87b33e00d0abf76d389bcb966786516a35a72de",
          applied_checksum: "068071399c945bfb713d5998f87b33e00d0abf76d389bcb966786516a35a72de",
          problem: null,
          unfinished: false
        })
        assert.strictEqual((yield* ask(`select from ${table}`)).length, 2)

        yield* Effect.promise(() => writeFiles(directory, { "0001_born.sql": "select 1", "stray.sql": "select 1" }))
        yield* ask(`insert into ${table} (hash, created_at) values ('gone', 5)`)
        const after = yield* status(directory)
        assert.deepStrictEqual(states(after), {
          "0000_init": "applied",
          "0001_born": "modified",
          "0002_seed": "pending",
          "5": "orphaned"
        })
        assert.deepStrictEqual(after.summary, { applied: 1, pending: 1, modified: 1, orphaned: 1, total: 4 })
        assert.include(after.notes.join(), "stray.sql")
        const error = yield* refused(directory)
        assert.deepInclude(error, { _tag: "Conflict", code: "MIGRATION_MODIFIED", details: ["0001_born"] })
      })
    )
  )

  it.live("older file that is added late runs: the newest row is not a high-water mark", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(drizzle, 0, 2)
        const directory = yield* filesDirectory(drizzle.files)
        assert.deepStrictEqual(states(yield* status(directory))["0001_born"], "pending")
        assert.deepStrictEqual((yield* run(directory)).ran, ["0001_born"])
        assert.include(yield* columnsOf("authors"), "born integer")
        const rows = yield* ask(`select hash, created_at::text from ${table} order by id`)
        // The row that drizzle-orm itself writes for this file.
        assert.deepStrictEqual(rows[2], {
          hash: "068071399c945bfb713d5998f87b33e00d0abf76d389bcb966786516a35a72de",
          created_at: "1795281341650"
        })
        assert.deepStrictEqual((yield* run(directory)).ran, [])
        assert.strictEqual((yield* ask(`select from ${table}`)).length, 3)
      })
    )
  )

  it.live("table is created as Drizzle does where it is missing", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(drizzle.files)
        assert.deepInclude(yield* status(directory), { tool: "drizzle", table })
        assert.deepStrictEqual(yield* ask("select from pg_namespace where nspname = 'drizzle'"), [])
        const { ran } = yield* run(directory)
        assert.deepStrictEqual(ran, ["0000_init", "0001_born", "0002_seed"])
        assert.strictEqual(yield* columnsOf(table), drizzle.columns)
        const ours = yield* ask(`select hash, created_at from ${table} order by id`)
        yield* ask(`truncate ${table}`)
        for (const row of drizzle.rows) yield* ask(row)
        assert.deepStrictEqual(ours, yield* ask(`select hash, created_at from ${table} order by id`))
        assert.deepStrictEqual((yield* run(directory)).ran, [])
      })
    )
  )

  it.live("history of 1.0, with names", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(drizzle1, 0)
        const directory = yield* filesDirectory(drizzle1.files)
        const before = yield* status(directory)
        assert.deepInclude(before, { tool: "drizzle", table })
        assert.deepInclude(before.migrations[0], { status: "applied", applied_at: "2026-11-21T17:16:22.158Z" })
        assert.deepStrictEqual((yield* run(directory)).ran, ["20261121171553_born", "20261121171557_seed"])
        const rows = yield* ask(`select hash, created_at, name from ${table} order by id`)
        yield* ask(`truncate ${table}`)
        for (const row of drizzle1.rows) yield* ask(row)
        assert.deepStrictEqual(rows, yield* ask(`select hash, created_at, name from ${table} order by id`))
        assert.deepStrictEqual(states(yield* status(directory)), {
          "20261121171549_init": "applied",
          "20261121171553_born": "applied",
          "20261121171557_seed": "applied"
        })
      })
    )
  )

  it.live("table of 1.0 is created as 1.0 does", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(drizzle1.files)
        assert.strictEqual((yield* run(directory)).ran.length, 3)
        assert.strictEqual(yield* columnsOf(table), drizzle1.columns)
      })
    )
  )

  it.live("files without its journal are compared by their content", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(drizzle, 0)
        const { "meta/_journal.json": _journal, ...files } = drizzle.files
        const directory = yield* filesDirectory(files)
        const before = yield* status(directory)
        assert.deepInclude(before, { tool: "drizzle", table, notes: [] })
        assert.deepStrictEqual(states(before), {
          "0000_init": "applied",
          "0001_born": "pending",
          "0002_seed": "pending"
        })
        assert.deepStrictEqual((yield* run(directory)).ran, ["0001_born", "0002_seed"])
        const [late] = yield* ask(`select
          created_at > (select min(created_at) from ${table}) as later from ${table} order by id desc limit 1`)
        assert.strictEqual(late?.["later"], true)
        assert.strictEqual((yield* status(directory)).summary.applied, 3)
        yield* Effect.promise(() => writeFiles(directory, { "0001_born.sql": "select 1" }))
        assert.deepInclude((yield* status(directory)).summary, { applied: 2, pending: 1, orphaned: 1 })
        assert.deepInclude(yield* refused(directory), { code: "MIGRATION_MODIFIED", details: ["0001_born"] })
      })
    )
  )

  it.live("table does not replace the service's own history, once that has files", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory({ "1.sql": "create table a ()" })
        assert.deepStrictEqual((yield* run(directory)).ran, ["1"])
        yield* history(drizzle, 0)
        const seen = yield* status(directory)
        assert.deepInclude(seen, { tool: null, table: "svc.applied_migrations" })
        assert.deepStrictEqual(states(seen), { "1": "applied" })
      })
    )
  )

  it.live("table may have another name and schema", () =>
    fresh(
      Effect.gen(function* () {
        yield* ask(`create table public."My Migrations" (id serial primary key, hash text not null, created_at bigint)`)
        const directory = yield* filesDirectory(drizzle.files)
        assert.deepInclude(yield* status(directory), { tool: "drizzle", table: "public.My Migrations" })
        yield* run(directory)
        assert.strictEqual((yield* ask(`select from public."My Migrations"`)).length, 3)
      })
    )
  )
})

describe("Prisma's", () => {
  it.live("history is detected; a CR LF file equals its LF original", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(prisma, 0, 1)
        const directory = yield* filesDirectory(prisma.files)
        const before = yield* status(directory)
        assert.deepInclude(before, { tool: "prisma", table: "public._prisma_migrations" })
        assert.deepStrictEqual(states(before), { "20261121171702_init": "applied", "20261122000000_born": "applied" })
        assert.strictEqual(before.migrations[0]?.applied_at, "2026-11-21T17:17:02.701Z")
        const path = "20261122000000_born/migration.sql"
        const text = prisma.files[path] ?? ""
        yield* Effect.promise(() => writeFiles(directory, { [path]: text.replaceAll("\r\n", "\n") }))
        assert.strictEqual((yield* status(directory)).summary.applied, 2)
        yield* Effect.promise(() => writeFiles(directory, { [path]: `${text} ` }))
        assert.deepStrictEqual(states(yield* status(directory))["20261122000000_born"], "modified")
      })
    )
  )

  it.live("rows are written as Prisma writes them", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(prisma, 0)
        const directory = yield* filesDirectory(prisma.files)
        assert.deepStrictEqual((yield* run(directory)).ran, ["20261122000000_born"])
        const shape = `select length(id) as id, checksum, migration_name, logs, rolled_back_at, applied_steps_count,
          finished_at >= started_at as in_order from _prisma_migrations order by migration_name`
        const ours = yield* ask(shape)
        yield* ask("truncate _prisma_migrations")
        for (const row of prisma.rows) yield* ask(row)
        assert.deepStrictEqual(ours, yield* ask(shape))
      })
    )
  )

  it.live("table is created as Prisma does where it is missing, and closed to clients", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(prisma.files)
        assert.deepStrictEqual((yield* run(directory)).ran, ["20261121171702_init", "20261122000000_born"])
        assert.strictEqual(yield* columnsOf("_prisma_migrations"), prisma.columns)
        const open = yield* ask("select has_table_privilege('anon', '_prisma_migrations', 'select') as it")
        assert.deepStrictEqual(open, [{ it: false }])
        assert.strictEqual((yield* status(directory)).summary.applied, 2)
      })
    )
  )

  it.live("unfinished migration blocks a run until it is resolved", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(prisma, 0)
        yield* ask(prismaUnfinished("20261122000000_born"))
        const directory = yield* filesDirectory(prisma.files)
        const [, born] = (yield* status(directory)).migrations
        assert.strictEqual(born?.status, "pending")
        assert.match(born?.problem ?? "", /parts of it may be applied: external connector error$/)
        assert.deepInclude(yield* refused(directory), { _tag: "Conflict", code: "MIGRATION_UNFINISHED" })
        // prisma migrate resolve --rolled-back
        yield* ask("update _prisma_migrations set rolled_back_at = now() where finished_at is null")
        assert.deepStrictEqual((yield* run(directory)).ran, ["20261122000000_born"])
      })
    )
  )
})

/** The columns, indexes and labels that a folder of four kinds of files has made. */
const madeSql = `select (select count(*) from pg_class where relname ~ '^t[0-9]+$' and relkind = 'r')::int as tables,
  (select count(*) from pg_index where indexrelid::regclass::text ~ '^i[0-9]+$' and indisvalid)::int as indexes,
  (select count(*) from pg_attribute where attname in ('more', 'last') and attrelid::regclass::text ~ '^t')::int as columns`

describe("hundreds of files", () => {
  it.live("of Prisma run unchanged, with BEGIN and CONCURRENTLY, and their rows are Prisma's", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(prismaFolder(400))
        assert.lengthOf((yield* run(directory)).ran, 400)
        assert.deepStrictEqual(yield* ask(madeSql), [{ tables: 100, indexes: 100, columns: 200 }])
        assert.deepStrictEqual(
          yield* ask(
            `select count(*)::int as rows, bool_and(finished_at is not null and applied_steps_count = 1 and logs is null) as whole from _prisma_migrations`
          ),
          [{ rows: 400, whole: true }]
        )
        assert.deepInclude((yield* status(directory)).summary, { applied: 400, modified: 0 })
        assert.deepStrictEqual((yield* run(directory)).ran, [])
      })
    )
  )

  it.live("of Supabase run unchanged, and their rows have the statements", () =>
    fresh(
      Effect.gen(function* () {
        yield* ask(
          "create schema supabase_migrations; create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text)"
        )
        const directory = yield* filesDirectory(supabaseFolder(200))
        assert.lengthOf((yield* run(directory)).ran, 200)
        assert.deepStrictEqual(yield* ask(madeSql), [{ tables: 50, indexes: 50, columns: 50 }])
        const rows = yield* ask(
          "select name, statements from supabase_migrations.schema_migrations order by version limit 4"
        )
        assert.deepStrictEqual(rows[3], {
          name: "step_3",
          statements: [
            "begin",
            "drop publication if exists p",
            "create publication p",
            "commit",
            'alter publication p add table "t0"'
          ]
        })
        assert.deepStrictEqual(yield* ask("select from svc.migration_attempts"), [])
      })
    )
  )

  it.live("of Drizzle run unchanged", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(drizzleFolder(200))
        assert.lengthOf((yield* run(directory)).ran, 200)
        assert.deepStrictEqual(yield* ask(madeSql), [{ tables: 50, indexes: 50, columns: 100 }])
        assert.deepInclude((yield* status(directory)).summary, { applied: 200 })
        assert.deepStrictEqual(yield* ask("select from svc.migration_attempts"), [])
      })
    )
  )

  it.live("without a tool run unchanged", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory(supabaseFolder(100))
        assert.deepInclude(yield* run(directory), { tool: null })
        assert.deepStrictEqual(yield* ask(madeSql), [{ tables: 25, indexes: 25, columns: 25 }])
      })
    )
  )
})

describe("a failure in the middle", () => {
  const half =
    "create table half_a (n int);\nbegin;\ncreate table half_b ();\ncommit;\ncreate table half_c ();\nselect nope;"

  it.live("is recorded in Prisma's history, and blocks until it is resolved", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory({
          "migration_lock.toml": "",
          "1_a/migration.sql": "create table before_it ()",
          "2_b/migration.sql": half,
          "3_c/migration.sql": "create table after_it ()"
        })
        const error = yield* refused(directory)
        assert.deepInclude(error, { _tag: "Unprocessable", code: "MIGRATION_FAILED" })
        assert.deepInclude(error.details as object, { migration: "2_b", line: 6, kept: 4, applied: ["1_a"] })
        assert.deepStrictEqual(
          yield* ask(
            "select migration_name as name, finished_at is null as open, applied_steps_count as steps, logs from _prisma_migrations order by 1"
          ),
          [
            { name: "1_a", open: false, steps: 1, logs: null },
            { name: "2_b", open: true, steps: 0, logs: '2_b/migration.sql:6: column "nope" does not exist' }
          ]
        )
        const [, second] = (yield* status(directory)).migrations
        assert.deepInclude(second, { name: "2_b", status: "pending", unfinished: true })
        assert.match(second?.problem ?? "", /parts of it may be applied: .*"nope"/)
        assert.deepInclude(yield* refused(directory), { code: "MIGRATION_UNFINISHED", details: ["2_b"] })

        const resolve = (name: string, as: "applied" | "rolled_back") =>
          on(directory, (migrations) => migrations.resolve({ name, as }))
        assert.deepInclude(yield* Effect.flip(resolve("1_a", "applied")), { code: "MIGRATION_NOT_FAILED" })
        assert.deepInclude(yield* Effect.flip(resolve("none", "applied")), { code: "MIGRATION_NOT_FOUND" })
        yield* ask("drop table half_a, half_b")
        const undone = yield* resolve("2_b", "rolled_back")
        assert.deepStrictEqual(undone.marked, ["2_b"])
        assert.deepInclude(undone.migrations[1], { status: "pending", unfinished: false, problem: null })
        assert.deepInclude(yield* refused(directory), { code: "MIGRATION_FAILED" })
        assert.deepInclude((yield* resolve("2_b", "applied")).migrations[1], { status: "applied" })
        assert.deepStrictEqual((yield* run(directory)).ran, ["3_c"])
        // As prisma migrate resolve leaves them.
        assert.deepStrictEqual(
          yield* ask(
            `select count(*) filter (where rolled_back_at is not null)::int as undone,
               count(*) filter (where finished_at is not null and applied_steps_count = 0)::int as marked
             from _prisma_migrations where migration_name = '2_b'`
          ),
          [{ undone: 2, marked: 1 }]
        )
      })
    )
  )

  it.live.each(["supabase", "own", "drizzle"] as const)("is in the status of the history of %s", (tool) =>
    fresh(
      Effect.gen(function* () {
        if (tool === "supabase") {
          yield* ask(
            "create schema supabase_migrations; create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text)"
          )
        }
        const entries = [{ idx: 0, when: 1, tag: "1_half" }]
        const directory = yield* filesDirectory({
          "1_half.sql": half,
          ...(tool === "drizzle" ? { "meta/_journal.json": JSON.stringify({ entries }) } : {})
        })
        const error = yield* refused(directory)
        assert.deepInclude(error.details as object, { migration: "1_half", line: 6, kept: 4 })
        assert.deepStrictEqual(
          yield* ask("select to_regclass('half_b') is null as b, to_regclass('half_c') is null as c"),
          [{ b: false, c: true }]
        )
        const [failed] = (yield* status(directory)).migrations
        assert.deepInclude(failed, { status: "pending", unfinished: true })
        assert.match(failed?.problem ?? "", /^It failed, and its first 4 statements are applied: .*"nope"/)
        // These tools run a file again that is not in their history.
        assert.match((yield* refused(directory)).error, /"half_a" already exists/)
        const resolved = yield* on(directory, (migrations) => migrations.resolve({ name: "1_half", as: "applied" }))
        assert.deepInclude(resolved.migrations[0], { status: "applied", unfinished: false, problem: null })
        assert.deepStrictEqual((yield* run(directory)).ran, [])
      })
    )
  )

  it.live("of the connection is recorded, too", () =>
    fresh(
      Effect.gen(function* () {
        const directory = yield* filesDirectory({
          "migration_lock.toml": "",
          "1_lost/migration.sql": "create table lost (); select pg_terminate_backend(pg_backend_pid())"
        })
        assert.deepInclude(yield* refused(directory), { _tag: "Unavailable" })
        assert.deepInclude((yield* status(directory)).migrations[0], { status: "pending", unfinished: true })
      })
    )
  )
})

describe("a baseline", () => {
  it.live.each(["own", "prisma", "drizzle", "supabase"] as const)("marks files without running them: %s", (tool) =>
    fresh(
      Effect.gen(function* () {
        const files = {
          own: supabaseFolder(8),
          supabase: supabaseFolder(8),
          prisma: prismaFolder(8),
          drizzle: drizzleFolder(8)
        }[tool]
        if (tool === "supabase") {
          yield* ask(
            "create schema supabase_migrations; create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text)"
          )
        }
        const directory = yield* filesDirectory(files)
        const { migrations } = yield* status(directory)
        const names = migrations.map(({ name }) => name)
        const baseline = (through: string) => on(directory, (migrations) => migrations.baseline(through))
        const marked = yield* baseline(names[3] ?? "")
        assert.deepStrictEqual(marked.marked, names.slice(0, 4))
        assert.deepInclude(marked.summary, { applied: 4, pending: 4 })
        assert.deepStrictEqual(yield* ask("select to_regclass('t0') is null as none"), [{ none: true }])
        assert.deepInclude(yield* Effect.flip(baseline(names[3] ?? "")), { code: "MIGRATION_APPLIED" })
        assert.deepInclude(yield* Effect.flip(baseline("none")), { code: "MIGRATION_NOT_FOUND" })
        assert.deepStrictEqual((yield* run(directory)).ran, names.slice(4))
        if (tool === "supabase") {
          assert.deepStrictEqual(
            yield* ask(
              "select cardinality(statements) as n from supabase_migrations.schema_migrations order by version"
            ),
            [1, 1, 1, 5, 1, 1, 1, 5].map((n) => ({ n }))
          )
        }
      })
    )
  )
})

describe("others", () => {
  it.live.each([
    ["knex", "create table knex_migrations (id serial, name text, batch int, migration_time timestamptz)"],
    ["flyway", "create table flyway_schema_history (installed_rank int, version text, script text)"],
    ["golang-migrate", "create table schema_migrations (version bigint, dirty bool)"],
    ["rails", "create table schema_migrations (version text); create table ar_internal_metadata (key text, value text)"]
  ] as const)("%s is named and not changed", ([tool, made]) =>
    fresh(
      Effect.gen(function* () {
        yield* ask(made)
        const directory = yield* filesDirectory({ "1.sql": "create table a ()" })
        const seen = yield* status(directory)
        assert.deepInclude(seen, { tool, migrations: [] })
        assert.include(seen.notes.join(), "MIGRATIONS_TOOL=own")
        assert.deepInclude(yield* refused(directory), { _tag: "Conflict", code: "MIGRATION_TOOL_UNSUPPORTED" })
        const own = yield* run(directory, "own")
        assert.deepInclude(own, { tool: null, table: "svc.applied_migrations", ran: ["1"] })
        // From now on the service's own history is used, even if others exist.
        assert.deepInclude(yield* status(directory), { tool: null })
      })
    )
  )

  it.live("of two tools are chosen by the files, else by the setting", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(drizzle, 0)
        yield* history(prisma, 0)
        const ours = yield* filesDirectory({ "1.sql": "create table a ()" })
        assert.deepInclude(yield* Effect.flip(status(ours)), { _tag: "Conflict", code: "MIGRATION_TOOL_UNCLEAR" })
        assert.deepInclude(yield* refused(ours), { code: "MIGRATION_TOOL_UNCLEAR" })
        assert.deepInclude(yield* status(ours, "own"), { tool: null })
        for (const record of [drizzle, prisma]) {
          const seen = yield* status(yield* filesDirectory(record.files))
          assert.strictEqual(seen.tool, record === drizzle ? "drizzle" : "prisma")
          assert.strictEqual(seen.summary.applied, 1)
        }
      })
    )
  )

  it.live("are ambiguous with one tool's table and another's files", () =>
    fresh(
      Effect.gen(function* () {
        yield* history(prisma, 0)
        const directory = yield* filesDirectory(drizzle.files)
        assert.deepInclude(yield* Effect.flip(status(directory)), { code: "MIGRATION_TOOL_UNCLEAR" })
        assert.strictEqual((yield* run(directory, "drizzle")).ran.length, 3)
      })
    )
  )
})
