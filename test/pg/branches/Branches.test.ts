import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type BranchId } from "../../../src/domain/branches/Branch.ts"
import { backupsLock, branchesLock, migrationsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { tryAdvisoryLocks } from "../../../src/services/AdvisoryLock.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { layerOn, on, onServer, withDatabase } from "../../support/branches/database.ts"
import { asLogin } from "../../support/branches/branches.ts"
import { service } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"

const everything = [
  "create schema app",
  "create domain app.positive as int check (value > 0)",
  "create type app.mood as enum ('good', 'bad')",
  "create type app.pair as (a int, b text)",
  "create type app.span as range (subtype = int)",
  "create sequence app.numbers",
  "create table app.parts (id int, at date, primary key (id, at)) partition by range (at)",
  "create table app.parts_2026 partition of app.parts for values from ('2026-01-01') to ('2027-01-01')",
  `create table app."odd ""name" (id int generated always as identity, m app.mood, p app.positive, q app.pair, r app.span,
     doubled int generated always as (p * 2) stored)`,
  `insert into app."odd ""name" (m, p, q, r) select 'good', n, (n, 'x')::app.pair, app.span(1, n + 1) from generate_series(1, 500) n`,
  "insert into app.parts select n, '2026-01-01'::date + n from generate_series(0, 300) n",
  `create view app.looking as select id from app."odd ""name"`,
  "create materialized view app.kept as select count(*) from app.parts",
  `create function app.plus(a int, b int default 1) returns int language sql as 'select a + b'`,
  `create procedure app.proceed() language sql as 'select 1'`,
  "create aggregate app.total (int) (sfunc = int4pl, stype = int, initcond = '0')",
  "create operator app.@#@ (leftarg = int, rightarg = int, function = app.plus)",
  `create statistics app.known on id, p from app."odd ""name"`,
  "create text search configuration app.search (copy = pg_catalog.simple)",
  `create collation app.plain from "C"`,
  "create publication told for table app.parts",
  "create extension pg_trgm",
  "create extension postgres_fdw",
  "create server elsewhere foreign data wrapper postgres_fdw options (host '127.0.0.1')",
  "create user mapping for public server elsewhere options (user 'u', password 'theirs')",
  "create user mapping for postgres server elsewhere options (user 'u', password 'theirs')",
  "select lo_from_bytea(0, 'large')",
  "alter default privileges for role postgres in schema app grant select on tables to anon",
  "grant usage on schema app to anon"
]

/** Objects in schema app or in no schema whose owner is not this role. */
const othersSql = (role: string) => `
  with owned as (
    select 'relation ' || relname as what, relowner as owner from pg_class where relnamespace = 'app'::regnamespace
    union all select 'routine ' || proname, proowner from pg_proc where pronamespace = 'app'::regnamespace
    union all select 'type ' || typname, typowner from pg_type where typnamespace = 'app'::regnamespace
    union all select 'operator ' || oprname, oprowner from pg_operator where oprnamespace = 'app'::regnamespace
    union all select 'collation ' || collname, collowner from pg_collation where collnamespace = 'app'::regnamespace
    union all select 'search ' || cfgname, cfgowner from pg_ts_config where cfgnamespace = 'app'::regnamespace
    union all select 'statistics ' || stxname, stxowner from pg_statistic_ext where stxnamespace = 'app'::regnamespace
    union all select 'schema ' || nspname, nspowner from pg_namespace where nspname in ('app', 'public')
    union all select 'server ' || srvname, srvowner from pg_foreign_server
    union all select 'publication ' || pubname, pubowner from pg_publication
    union all select 'large object ' || oid, lomowner from pg_largeobject_metadata
  )
  select what, count(*) over () as n from owned where owner ${role === "" ? "is not null" : `<> '${role}'::regrole`}`

const hashesSql = `select c.oid::regclass::text as name, (xpath('/row/h/text()', query_to_xml(
    format('select coalesce(md5(string_agg(t::text, '','' order by t::text)), '''') as h from %s t', c.oid::regclass), false, true, '')))[1]::text as hash
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'app' and c.relkind in ('r', 'p', 'm') order by 1`

it.live(
  "a branch has all rows and objects of its source, owned by its role, without the service's secrets",
  () =>
    withDatabase("branch_content", (database) =>
      Effect.gen(function* () {
        yield* on(database, ...everything)
        const branches = yield* Branches
        const started = yield* branches.start({ label: "copy" })
        assert.deepInclude(started, { label: "copy", status: "restoring", progress: null })
        const { connection, database_name: copy, id } = started
        yield* eventually(branches.find(id), ({ status }) => status === "active")
        assert.deepStrictEqual(yield* on(copy, hashesSql), yield* on(database, hashesSql))
        assert.deepStrictEqual(yield* on(copy, othersSql(copy)), [])
        assert.isAbove((yield* on(copy, othersSql(""))).length, 30)
        assert.deepStrictEqual(yield* on(copy, "select from pg_user_mapping"), [])
        assert.deepStrictEqual(yield* on(copy, "select from pg_namespace where nspname = 'svc'"), [])
        assert.isNotEmpty(yield* on(database, "select from pg_user_mapping"))
        const done = yield* Effect.promise(() =>
          asLogin(
            connection,
            "create table app.newer (id int)",
            "select lo_get(oid) from pg_largeobject_metadata",
            "drop publication told",
            "alter table app.parts drop constraint parts_pkey",
            "select has_table_privilege('anon', 'app.newer', 'select') as anon"
          )
        )
        assert.deepStrictEqual(done, [{ anon: true }])
      })
    ),
  60_000
)

it.live(
  "an interrupted creation is cleaned up, but not one that may be in progress",
  () =>
    withDatabase("branch_sweep", (database) =>
      Effect.gen(function* () {
        const branches = yield* Branches
        const sql = yield* SqlClient.SqlClient
        const kept = yield* branches.create({ label: "kept" })
        const dropped = yield* branches.create({ label: "dropped by somebody" })
        const half = `svc_branch_half${process.pid}`
        yield* sql.unsafe(
          `insert into svc.branches (label, database_name, password, ttl_hours) values ('half', '${half}', '', 0)`
        )
        yield* onServer(
          `create database ${half}`,
          `create role ${half} login`,
          `drop database ${dropped.database_name} with (force)`
        )

        const under = yield* sql.reserve.pipe(
          Effect.tap((held) => held.executeValues(`select pg_advisory_lock(${branchesLock})`, [])),
          Effect.andThen(branches.sweep),
          Effect.andThen(onServer(`select from pg_database where datname = '${half}'`)),
          Effect.scoped
        )
        assert.strictEqual(under.length, 1)
        yield* on(
          database,
          `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
             and database = (select oid from pg_database where datname = current_database())`
        )
        yield* eventually(
          Effect.andThen(Effect.ignore(branches.sweep), sql.unsafe("select from svc.branches")),
          ({ length }) => length === 1
        )
        assert.deepStrictEqual(
          (yield* branches.list).map(({ id }) => id),
          [kept.id]
        )
        const left = yield* onServer(
          `select rolname as name from pg_roles where rolname ~ '^(${half}|${dropped.database_name})'
           union all select datname from pg_database where datname = '${half}'`
        )
        assert.deepStrictEqual(left, [])
      })
    ),
  60_000
)

it.live(
  "a creation whose caller disconnects leaves no branch, and the next creation succeeds",
  () =>
    withDatabase("branch_interrupted", (database, login) =>
      Effect.gen(function* () {
        yield* on(database, "create table load as select repeat('x', 900) as text from generate_series(1, 60000)")
        const branches = yield* Branches
        for (const wait of [5, 60, 250]) {
          const fiber = yield* Effect.forkChild(branches.create({ label: "never" }))
          yield* Effect.sleep(wait)
          yield* Fiber.interrupt(fiber)
        }
        const rows = yield* on(database, "select count(*)::int as n from svc.branches")
        assert.deepStrictEqual(rows, [{ n: 0 }])
        // Two replicas create at once: one waits for the other.
        const other = Effect.flatMap(Branches, ({ create }) => create({ label: "other" })).pipe(
          Effect.provide(Layer.fresh(layerOn(login)))
        )
        const made = yield* Effect.all([branches.create({ label: "one" }), other], { concurrency: 2 })
        assert.strictEqual((yield* branches.list).length, 2)

        // The branch of the other replica is available at once, and missing at once after it is dropped.
        const id = made[1].id as BranchId
        const { run } = yield* branches.database(id, "service_role")
        const text = "select count(*)::text from load"
        assert.deepStrictEqual(yield* run(service, { text, params: [], access: "read" }), ["60000"])
        yield* branches.remove(id)
        const refused = yield* Effect.flip(branches.database(id, "service_role"))
        assert.strictEqual(refused.code, "BRANCH_NOT_FOUND")
      })
    ),
  60_000
)

it.live(
  "waits for backups and migrations that are running",
  () =>
    withDatabase("branch_patient", (database) =>
      Effect.gen(function* () {
        const branches = yield* Branches
        const sql = yield* SqlClient.SqlClient
        for (const lock of [backupsLock, migrationsLock]) {
          const creating = yield* Effect.gen(function* () {
            assert.isDefined(yield* tryAdvisoryLocks(sql, [lock], { shared: lock === backupsLock }))
            const creating = yield* Effect.forkChild(branches.create({ label: "patient" }))
            const tried = on(
              database,
              `select from pg_stat_activity
               where application_name = 'svc branches' and state = 'idle' and query ~ '${migrationsLock}|${backupsLock}'`
            )
            yield* eventually(tried, ({ length }) => length > 0)
            return creating
          }).pipe(Effect.scoped)
          assert.strictEqual((yield* Fiber.join(creating)).status, "active", lock)
        }
      })
    ),
  120_000
)
