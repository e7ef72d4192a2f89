import { eventually } from "../../support/eventually.ts"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { inject } from "vitest"
import { atPlace, type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { makeSqlSessions } from "../../../src/layers/postgres/sql/Sessions.ts"
import { type Actor, type Database } from "../../../src/services/ports/Db.ts"
import { SqlRunner, type SqlStatement } from "../../../src/services/sql/SqlRunner.ts"
import { asking, connect } from "../../support/database.ts"

const service: Actor = { role: "service_role", claims: "", sub: "" }
const role = "sql_runner_service"
const name = `sql_runner_${process.pid}`

/** A database for this file, the runner on it, and a superuser's connection for checks. */
class Bench extends Context.Service<
  Bench,
  {
    readonly login: Login
    readonly database: Database
    readonly admin: (sql: string, params?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Row>>
  }
>()("test/pg/Bench") {
  static readonly layer = Layer.effect(
    Bench,
    Effect.gen(function* () {
      const root = parseLogin(inject("databaseUrl")) as Login
      const outside = asking(yield* connect(root))
      yield* Effect.acquireRelease(
        Effect.gen(function* () {
          yield* outside(`create database ${name}`)
          yield* outside(`do $$ begin create role ${role}; exception when duplicate_object then null; end $$`)
        }),
        () => outside(`drop database ${name} with (force)`)
      )
      const login = { ...root, database: name }
      const admin = asking(yield* connect(login))
      yield* admin(`grant all on schema public to ${role}`)
      const session = yield* makeSqlSessions(login, { role, poolSize: 2, sqlTimeout: 20_000 })
      return { login, admin, database: { name, run: () => Effect.die("not here"), session } }
    })
  )
}

type Row = Readonly<Record<string, unknown>>
interface Result {
  readonly rows: ReadonlyArray<Row>
  readonly rowCount: number | null
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string; readonly oid: number }>
  readonly command: string
  readonly truncated: boolean
}

const parse = (json: string): unknown => JSON.parse(json)

/** The response of `/v1/sql`. */
const run = Effect.fnUntraced(function* (
  sql: string,
  params: ReadonlyArray<unknown> = [],
  row_limit?: number,
  actor = service
) {
  const { database } = yield* Bench
  const runner = yield* SqlRunner
  return parse((yield* runner.run(database, actor, { sql, params, row_limit })).json) as Result
})

const value = Effect.fnUntraced(function* (sql: string, params: ReadonlyArray<unknown> = [], actor = service) {
  const { rows } = yield* run(sql, params, 1, actor)
  return Object.values(rows[0] ?? {})[0]
})

const transaction = Effect.fnUntraced(function* (...statements: ReadonlyArray<string | SqlStatement>) {
  const { database } = yield* Bench
  const runner = yield* SqlRunner
  const all = statements.map((one) => (typeof one === "string" ? { sql: one } : one))
  const { json } = yield* runner.transaction(database, service, { statements: all })
  return (parse(json) as { readonly results: ReadonlyArray<Result> }).results
})

/** The service's backends that run a statement containing `marker`. */
const running = Effect.fnUntraced(function* (marker: string) {
  const { admin } = yield* Bench
  return yield* admin(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'svc sql' and state = 'active' and query like $1",
    [`%${marker}%`]
  )
})

const untilRunning = (marker: string) => Effect.repeat(running(marker), { until: (rows) => rows.length > 0 })

const suite = layer(Layer.mergeAll(Bench.layer, SqlRunner.layer))

suite("values", (it) => {
  it.effect.each([
    ["true", true, "boolean"],
    ["1::int2", 1, "smallint"],
    ["(-2147483648)::int4", -2147483648, "integer"],
    ["4294967295::oid", 4294967295, "oid"],
    ["9007199254740993::int8", "9007199254740993", "bigint"],
    ["1.10::numeric(10,2)", "1.10", "numeric"],
    ["'NaN'::numeric", "NaN", "numeric"],
    ["0.1::float4", 0.1, "real"],
    ["1e300::float8", 1e300, "double precision"],
    ["'-Infinity'::float8", "-Infinity", "double precision"],
    ["'x'::text", "x", "text"],
    ["'x'::char(3)", "x  ", "character"],
    ["'x'::varchar", "x", "character varying"],
    ["'x'", "x", "text"],
    ["'{\"a\": [1, null]}'::json", { a: [1, null] }, "json"],
    ['\'{"a": "\\u00e9"}\'::jsonb', { a: "é" }, "jsonb"],
    ["'\\x00ff'::bytea", "\\x00ff", "bytea"],
    ["'2026-01-01 12:00:00.123456+02'::timestamptz", "2026-01-01T10:00:00.123456+00:00", "timestamp with time zone"],
    ["'infinity'::timestamptz", "infinity", "timestamp with time zone"],
    ["'0044-03-15 12:00 BC'::timestamptz", "-000043-03-15T12:00:00+00:00", "timestamp with time zone"],
    ["'2026-01-01 12:00:00'::timestamp", "2026-01-01 12:00:00", "timestamp without time zone"],
    ["'2026-01-31'::date", "2026-01-31", "date"],
    ["'12:00'::time", "12:00:00", "time without time zone"],
    ["'12:00+02'::timetz", "12:00:00+02", "time with time zone"],
    ["'1 day 2 hours'::interval", "1 day 02:00:00", "interval"],
    ["1.5::money", "$1.50", "money"],
    ["'(1,2)'::point", "(1,2)", "point"],
    ["'(1,2),(3,4)'::box", "(3,4),(1,2)", "box"],
    ["'[1,5]'::int4range", "[1,6)", "int4range"],
    ["'{[1,2],[5,6]}'::int4multirange", "{[1,3),[5,7)}", "int4multirange"],
    ["'<a/>'::xml", "<a/>", "xml"],
    ["'b a'::tsvector", "'a' 'b'", "tsvector"],
    ["'a & b'::tsquery", "'a' & 'b'", "tsquery"],
    ["'{1234abcd-0000-4000-8000-000000000000}'::uuid", "1234abcd-0000-4000-8000-000000000000", "uuid"],
    ["'10.0.0.1/8'::inet", "10.0.0.1/8", "inet"],
    ["B'101'", "101", "bit"],
    ["row(1, 'a b', null)", '(1,"a b",)', "record"],
    ["'{}'::int[]", [], "integer[]"],
    [
      "'{{1,2},{3,NULL}}'::int[]",
      [
        [1, 2],
        [3, null]
      ],
      "integer[]"
    ],
    ["'[0:1]={1,2}'::int8[]", ["1", "2"], "bigint[]"],
    ["array['a \"b\"', null, 'NULL', '', 'é,{}']", ['a "b"', null, "NULL", "", "é,{}"], "text[]"],
    ["array['(1,1),(0,0)', '(3,3),(2,2)']::box[]", ["(1,1),(0,0)", "(3,3),(2,2)"], "box[]"],
    ["array['{\"a\":1}', '[2]']::jsonb[]", [{ a: 1 }, [2]], "jsonb[]"],
    ["array['2026-01-01']::timestamptz[]", ["2026-01-01T00:00:00+00:00"], "timestamp with time zone[]"],
    ["'sad'::mood", "sad", "mood"],
    ["array['sad', 'so so']::mood[]", ["sad", "so so"], "mood[]"],
    ["row(1, '{1,2}')::pair", '(1,"{1,2}")', "pair"],
    ["array[row(1, '{1,2}')::pair]", ['(1,"{1,2}")'], "pair[]"],
    ["5::positive", 5, "integer"],
    ["array[5::positive]", [5], "positive[]"],
    ["array['{1}'::ints]", [[1]], "ints[]"],
    ["'1 2'::int2vector", "1 2", "int2vector"],
    ["array['pg_class']::information_schema.sql_identifier[]", ["pg_class"], "information_schema.sql_identifier[]"]
  ] as ReadonlyArray<readonly [string, unknown, string]>)("%s", ([sql, expected, type]) =>
    Effect.gen(function* () {
      yield* (yield* Bench).admin(types)
      const { rows, columns } = yield* run(`select ${sql} as v`)
      assert.deepStrictEqual(rows, [{ v: expected }])
      assert.strictEqual(columns[0]?.type, type)
    })
  )

  const types = `do $$ begin
    create type mood as enum ('sad', 'so so');
    create type pair as (a int, b int[]);
    create domain positive as int check (value > 0);
    create domain ints as int[];
  exception when duplicate_object then null; end $$`

  it.effect("every type that can be printed gives valid JSON", () =>
    Effect.gen(function* () {
      const { admin } = yield* Bench
      const all = yield* admin(`select format('null::%s as c%s', format_type(oid, null), oid) as sql from pg_type
        where typtype in ('b', 'd', 'e', 'r', 'm') and typname !~ '^pg_|cstring|^any' order by oid`)
      for (let i = 0; i < all.length; i += 500) {
        const names = all.slice(i, i + 500).map((row) => String(row["sql"]))
        const { columns } = yield* run(`select ${names.join(", ")}`)
        assert.strictEqual(columns.length, names.length)
        assert.notInclude(
          columns.map((column) => column.type),
          "???"
        )
      }
    })
  )

  it.effect("columns with equal names, without names, and no columns", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run('select 1 a, 2 a, 3 "__proto__x", 4')).rows, [
        { a: 1, a_2: 2, __proto__x: 3, "?column?": 4 }
      ])
      const none = yield* run("select from generate_series(1, 2)")
      assert.deepStrictEqual([none.rows, none.rowCount, none.columns], [[{}, {}], 2, []])
    })
  )
})

suite("parameters", (it) => {
  it.effect.each([
    ["select $1::int", [5], 5],
    ["select $1::text", [5], "5"],
    ["select $1::int8", ["9007199254740993"], "9007199254740993"],
    ["select $1::numeric", [1e21], "1000000000000000000000"],
    ["select $1::float8", [0.1], 0.1],
    ["select $1::bool", [false], false],
    ["select $1::int is null", [null], true],
    ["select $1::jsonb", [{ a: [1] }], { a: [1] }],
    ["select $1::jsonb", [[1, "a", null]], [1, "a", null]],
    ["select $1::json", [[]], []],
    ["select $1::int[]", [[1, null, 3]], [1, null, 3]],
    [
      "select $1::text[]",
      [
        [
          ["a", 'b"'],
          ["{", "NULL"]
        ]
      ],
      [
        ["a", 'b"'],
        ["{", "NULL"]
      ]
    ],
    ["select 2 = any($1)", [[1, 2]], true],
    ["select $1::jsonb[]", [[{ a: 1 }, [2]]], [{ a: 1 }, [2]]],
    ["select $1::box[]", [["(1,1),(0,0)", "(3,3),(2,2)"]], ["(1,1),(0,0)", "(3,3),(2,2)"]],
    ["select $1::timestamptz", ["2026-01-01"], "2026-01-01T00:00:00+00:00"],
    ["select $1::text", ["é🙂'"], "é🙂'"]
  ] as ReadonlyArray<readonly [string, ReadonlyArray<unknown>, unknown]>)("%s with %j", ([sql, params, expected]) =>
    Effect.map(value(sql, params), (got) => assert.deepStrictEqual(got, expected))
  )

  it.effect("are counted by PostgreSQL", () =>
    Effect.map(Effect.flip(run("select $1::int, $2::int", [1])), (error) => {
      assert.strictEqual(error.code, "08P01")
      assert.strictEqual(error._tag === "DatabaseError" && error.status, 400)
    })
  )

  it.effect("an array among them does not hide the position of an error", () =>
    Effect.map(Effect.flip(run("select $1::int[], nope", [[1]])), (error) =>
      assert.deepInclude(error, { code: "42703", position: 19 })
    )
  )
})

suite("statements", (it) => {
  it.effect("of many kinds", () =>
    Effect.gen(function* () {
      const commandOf = (sql: string) =>
        Effect.map(run(sql), ({ command, rowCount, rows }) => [command, rowCount, rows.length])
      const of = (sql: string, ...expected: ReadonlyArray<unknown>) =>
        Effect.map(commandOf(sql), (got) => assert.deepStrictEqual(got, expected, sql))
      yield* of("create table kinds (id int primary key, v text); -- done", "CREATE TABLE", null, 0)
      yield* of("insert into kinds select g, 'x' from generate_series(1, 5) g", "INSERT", 5, 0)
      yield* of("update kinds set v = 'y' where id < 3 returning *", "UPDATE", 2, 2)
      yield* of("with d as (delete from kinds where id = 1 returning id) select * from d", "SELECT", 1, 1)
      yield* of("merge into kinds k using (values (2)) n(id) on k.id = n.id when matched then delete", "MERGE", 1, 0)
      yield* of("values (1), (2)", "SELECT", 2, 2)
      yield* of("(select 1) union (select 2)", "SELECT", 2, 2)
      yield* of("table kinds", "SELECT", 3, 3)
      yield* of("explain select 1", "EXPLAIN", null, 1)
      yield* of("show timezone", "SHOW", null, 1)
      yield* of("set work_mem = '8MB'", "SET", null, 0)
      yield* of("do $$ begin perform 1; end $$", "DO", null, 0)
      yield* of("create table kinds_2 as table kinds", "SELECT", 3, 0)
      yield* of("prepare x as select 1", "PREPARE", null, 0)
      yield* of("notify kinds", "NOTIFY", null, 0)
      yield* of("vacuum kinds", "VACUUM", null, 0)
      yield* of("create index concurrently on kinds (v)", "CREATE INDEX", null, 0)
      yield* of("truncate kinds", "TRUNCATE TABLE", null, 0)
      yield* of(
        "create procedure commits(out n int) language plpgsql as $$ begin " +
          "insert into kinds values (7); commit; insert into kinds values (8); rollback; n := 1; end $$",
        "CREATE PROCEDURE",
        null,
        0
      )
      yield* of("call commits(null)", "CALL", null, 1)
      yield* of("table kinds", "SELECT", 1, 1)
      yield* of("drop table kinds, kinds_2", "DROP TABLE", null, 0)
    })
  )

  it.effect("that create databases run outside of a transaction", () =>
    Effect.gen(function* () {
      const { admin } = yield* Bench
      yield* admin(`alter role ${role} createdb`)
      assert.strictEqual((yield* run(`create database ${name}_b`)).command, "CREATE DATABASE")
      assert.strictEqual((yield* run(`drop database ${name}_b`)).command, "DROP DATABASE")
    })
  )

  it.effect("report their commands", () =>
    Effect.gen(function* () {
      const { database } = yield* Bench
      const runner = yield* SqlRunner
      const { commands } = yield* runner.transaction(database, service, {
        statements: [
          { sql: "create table told (a int)" },
          { sql: "select * into told_2 from told" },
          { sql: "select 1" },
          { sql: "drop table told, told_2" }
        ]
      })
      assert.deepStrictEqual(commands, ["CREATE TABLE", "CREATE TABLE AS", "SELECT", "DROP TABLE"])
    })
  )

  it.effect("that PostgreSQL rejects", () =>
    Effect.gen(function* () {
      yield* run("create table refused (id int primary key)")
      const error = yield* Effect.flip(run("insert into refused values (1), (1)"))
      assert.deepInclude(error, {
        code: "23505",
        status: 409,
        error: 'duplicate key value violates unique constraint "refused_pkey"',
        details: "Key (id)=(1) already exists."
      })
      assert.deepInclude(yield* Effect.flip(run("select 'é', nope")), { code: "42703", status: 400, position: 13 })
      assert.deepInclude(yield* Effect.flip(run("select 1; select 2")), { code: "SQL_MULTIPLE_STATEMENTS" })
      assert.deepInclude(yield* Effect.flip(run("copy refused to stdout")), { code: "SQL_NOT_ALLOWED" })
      assert.deepInclude(yield* Effect.flip(run("load 'nothing'")), { _tag: "DatabaseError" })
      assert.strictEqual(yield* value("select count(*) from refused"), "0")
    })
  )
})

suite("row_limit", (it) => {
  it.effect("limits the rows that are read", () =>
    Effect.gen(function* () {
      const seen = yield* run("select generate_series(1, 100000000), pg_sleep(0)", [], 3)
      assert.deepStrictEqual([seen.rows.length, seen.rowCount, seen.truncated, seen.command], [3, 3, true, "SELECT"])
      const exact = yield* run("select generate_series(1, 3)", [], 3)
      assert.deepStrictEqual([exact.rows.length, exact.truncated], [3, false])
      assert.strictEqual((yield* run("select generate_series(1, 1001)")).rows.length, 1000)
      const shown = yield* run("explain select 1 union select 2", [], 1)
      assert.deepStrictEqual([shown.command, shown.truncated], ["EXPLAIN", true])
    })
  )

  it.effect("counts all rows that were changed", () =>
    Effect.gen(function* () {
      yield* run("create table limited (id int)")
      const seen = yield* run("insert into limited select generate_series(1, 5000) returning id", [], 3)
      assert.deepStrictEqual([seen.command, seen.rowCount, seen.truncated, seen.rows.length], ["INSERT", 5000, true, 3])
      const some = yield* run("delete from limited where id <= 3 returning id", [], 3)
      assert.deepStrictEqual([some.rowCount, some.truncated], [3, false])
      assert.strictEqual(yield* value("select count(*) from limited"), "4997")
      yield* Effect.flip(run("insert into limited values (1) returning 1 / 0"))
      assert.strictEqual(yield* value("select count(*) from limited"), "4997")
    })
  )

  it.effect("leaves no open portal that a transaction would fail on", () =>
    Effect.gen(function* () {
      const [, many] = yield* transaction(
        "create table many as select generate_series(1, 5000) id",
        "select * from many",
        "drop table many"
      )
      assert.deepStrictEqual([many?.truncated, many?.rows.length], [true, 1000])
    })
  )

  it.effect.each([0, -1, 1.5, 10_001, Number.NaN])("can't be %d", (limit) =>
    Effect.map(Effect.flip(run("select 1", [], limit)), (error) => assert.strictEqual(error.code, "SQL_ROW_LIMIT"))
  )

  it.effect("a result that is too large is rejected, of many rows or of one value", () =>
    Effect.gen(function* () {
      const wide = yield* Effect.flip(run("select repeat('x', 100000) from generate_series(1, 10000)", [], 10_000))
      assert.deepInclude(wide, { code: "RESULT_TOO_LARGE", status: 400 })
      const one = yield* Effect.flip(run("select repeat('x', 200000000)"))
      assert.strictEqual(one.code, "RESULT_TOO_LARGE")
      assert.strictEqual(yield* value("select 1"), 1)
    })
  )
})

suite("sessions", (it) => {
  const state = `select json_build_object(
    'user', current_user, 'session_user', session_user, 'zone', current_setting('TimeZone'),
    'path', current_setting('search_path'), 'timeout', current_setting('statement_timeout'),
    'claims', current_setting('request.jwt.claims'), 'sub', current_setting('request.jwt.sub'),
    'temp', to_regclass('pg_temp.leak'), 'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
    'prepared', (select count(*) from pg_prepared_statements), 'cursors', (select count(*) from pg_cursors where name <> ''),
    'listening', (select count(*) from pg_listening_channels()))`

  it.effect("start clean, regardless of the session before", () =>
    Effect.gen(function* () {
      const { admin, login } = yield* Bench
      yield* admin(`do $$ begin create role sql_runner_other; exception when duplicate_object then null; end $$`)
      yield* admin(`grant sql_runner_other to ${role}`)
      const fresh = yield* value(state)
      assert.deepInclude(fresh, { user: role, session_user: login.user, zone: "UTC", timeout: "20s" })
      assert.deepInclude(fresh, {
        claims: '{"role":"service_role"}',
        sub: "",
        temp: null,
        locks: 0,
        prepared: 0,
        cursors: 0,
        listening: 0
      })
      for (const sql of [
        "set role sql_runner_other",
        "reset role",
        "set role none",
        `set session authorization ${role}`,
        "set timezone = 'Asia/Tokyo'",
        "set search_path = pg_temp, pg_catalog",
        "set statement_timeout = 0",
        "select set_config('request.jwt.claims', 'stale', false), set_config('request.jwt.sub', 'stale', false)",
        "create temp table leak (a int)",
        "select pg_advisory_lock(1)",
        "prepare leak as select 1",
        "do $$ begin execute 'listen leak'; end $$",
        "select 1 / 0"
      ]) {
        yield* Effect.exit(run(sql))
        // One for each connection, all at once.
        assert.deepStrictEqual(yield* Effect.all([value(state), value(state)], { concurrency: 2 }), [fresh, fresh], sql)
      }
      yield* transaction("declare leak cursor with hold for select 1", "set role none")
      assert.deepStrictEqual(yield* Effect.all([value(state), value(state)], { concurrency: 2 }), [fresh, fresh])
    })
  )

  it.effect("have only the claims of their caller", () =>
    Effect.gen(function* () {
      const claims = "select current_setting('request.jwt.claims') || current_setting('request.jwt.sub')"
      const none = '{"role":"service_role"}'
      const ann: Actor = { role: "service_role", claims: '{"sub":"ann"}', sub: "ann" }
      assert.strictEqual(yield* value(claims, [], ann), '{"sub":"ann"}ann')
      assert.deepStrictEqual(yield* Effect.all([value(claims), value(claims)], { concurrency: 2 }), [none, none])
    })
  )

  it.effect("are cancelled in PostgreSQL when their caller disconnects", () =>
    Effect.gen(function* () {
      for (const marker of ["hang_up_1", "hang_up_2", "hang_up_3"]) {
        const fiber = yield* Effect.forkChild(run(`select pg_sleep(600) as ${marker}`))
        yield* untilRunning(marker)
        yield* Fiber.interrupt(fiber)
        // A busy server ends the statement a moment after it has received the cancellation.
        yield* eventually(running(marker), (left) => left.length === 0)
      }
      assert.strictEqual(yield* value("select 1"), 1)
    })
  )

  it.effect("roll back the transaction of a caller that disconnected", () =>
    Effect.gen(function* () {
      yield* run("create table left_alone (id int)")
      const fiber = yield* Effect.forkChild(
        transaction("insert into left_alone values (1)", "select pg_sleep(600) as left_alone")
      )
      yield* untilRunning("as left_alone")
      yield* Fiber.interrupt(fiber)
      yield* run("alter table left_alone add column v int")
      assert.strictEqual(yield* value("select count(*) from left_alone"), "0")
    })
  )

  it.effect("end a statement that takes too long", () =>
    Effect.gen(function* () {
      const { login } = yield* Bench
      const session = yield* makeSqlSessions(login, { role, poolSize: 1, sqlTimeout: 50 })
      const runner = yield* SqlRunner
      const database = { name, run: () => Effect.die("not here"), session }
      const error = yield* Effect.flip(runner.run(database, service, { sql: "select pg_sleep(600)" }))
      assert.deepInclude(error, { _tag: "DatabaseError", code: "57014", status: 504 })
      assert.include((yield* runner.run(database, service, { sql: "select 1 as one" })).json, '"one":1')
    })
  )

  it.effect("a backend that is killed is 503, and the next request works", () =>
    Effect.gen(function* () {
      const { admin } = yield* Bench
      const fiber = yield* Effect.forkChild(Effect.flip(run("select pg_sleep(600) as killed")))
      yield* untilRunning("as killed")
      yield* admin(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc sql'"
      )
      assert.deepInclude(yield* Fiber.join(fiber), {
        _tag: "Unavailable",
        code: "DATABASE_UNAVAILABLE",
        retry_after: 1
      })
      // Idle ones were terminated too, and one may be used before its loss is detected.
      assert.strictEqual(yield* Effect.retry(value("select 1"), { times: 2 }), 1)
    })
  )

  it.effect("no server: 503 at once", () =>
    Effect.gen(function* () {
      const { login } = yield* Bench
      const session = yield* makeSqlSessions(atPlace(login, { host: login.at.host, port: 1 }), {
        role,
        poolSize: 1,
        sqlTimeout: 1000
      })
      for (let i = 0; i < 3; i++) {
        const error = yield* Effect.flip(Effect.scoped(session(service)))
        assert.deepInclude(error, { _tag: "Unavailable", code: "DATABASE_UNAVAILABLE" })
      }
    })
  )

  it.effect("no free connection: 503 after the timeout, and interrupted waiters lose no connection", () =>
    Effect.gen(function* () {
      const { login } = yield* Bench
      const session = yield* makeSqlSessions(login, { role, poolSize: 1, sqlTimeout: 20_000 })
      const one = Effect.scoped(Effect.flatMap(session(service), ({ query }) => query("select 1", [], 1)))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* session(service)
          const gaveUp = yield* Effect.forkChild(one, { startImmediately: true })
          yield* Fiber.interrupt(gaveUp)
          assert.deepInclude(yield* Effect.flip(one), { _tag: "Unavailable", code: "POOL_EXHAUSTED", retry_after: 1 })
        })
      )
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => one),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(all.length, 20)
    })
  )
})

suite("transactions", (it) => {
  it.effect("return all results", () =>
    Effect.gen(function* () {
      const results = yield* transaction(
        "create table whole (id int primary key)",
        { sql: "insert into whole select unnest($1::int[]) returning id", params: [[1, 2]] },
        "select current_setting('transaction_isolation')"
      )
      assert.deepStrictEqual(
        results.map(({ command, rowCount }) => [command, rowCount]),
        [
          ["CREATE TABLE", null],
          ["INSERT", 2],
          ["SELECT", 1]
        ]
      )
      assert.strictEqual(yield* value("select count(*) from whole"), "2")
    })
  )

  it.effect("recognize types that they have just created", () =>
    Effect.gen(function* () {
      const [, made] = yield* transaction("create type brand_new as enum ('a')", "select array['a']::brand_new[] v")
      assert.deepStrictEqual(made?.rows, [{ v: ["a"] }])
    })
  )

  it.effect("may set their isolation level", () =>
    Effect.gen(function* () {
      const [, level] = yield* transaction(
        "set transaction isolation level serializable read only",
        "select current_setting('transaction_isolation') as level"
      )
      assert.deepStrictEqual(level?.rows, [{ level: "serializable" }])
    })
  )

  it.effect("roll back if one statement fails, and report which", () =>
    Effect.gen(function* () {
      yield* run("create table nothing (id int primary key)")
      const error = yield* Effect.flip(
        transaction("insert into nothing values (1)", "select 1", "insert into nothing values (1)", "select 2")
      )
      assert.deepInclude(error, { code: "23505", status: 409, statement_index: 2 })
      assert.strictEqual(yield* value("select count(*) from nothing"), "0")
    })
  )

  it.effect("check all statements before running the first", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(transaction("create table unchecked (id int)", "commit"))
      assert.deepInclude(error, { code: "SQL_NOT_ALLOWED", statement_index: 1 })
      assert.include(error.error, "statements[1]")
      assert.strictEqual(yield* value("select to_regclass('unchecked')"), null)
    })
  )

  it.effect("report errors of the COMMIT", () =>
    Effect.gen(function* () {
      yield* run("create table deferred (id int unique deferrable initially deferred)")
      const error = yield* Effect.flip(transaction("insert into deferred values (1), (1)"))
      assert.deepInclude(error, { code: "23505", status: 409 })
      assert.strictEqual(yield* value("select count(*) from deferred"), "0")
    })
  )

  it.effect("can't be ended by one of their statements", () =>
    Effect.map(Effect.flip(transaction("select 1", "do $$ begin commit; end $$")), (error) =>
      assert.deepInclude(error, { code: "2D000", statement_index: 1 })
    )
  )

  it.effect("have 1 to 20 statements", () =>
    Effect.gen(function* () {
      const ones = Array.from({ length: 20 }, () => "select 1")
      assert.strictEqual((yield* transaction(...ones)).length, 20)
      assert.strictEqual((yield* Effect.flip(transaction(...ones, "select 1"))).code, "SQL_STATEMENT_COUNT")
      assert.strictEqual((yield* Effect.flip(transaction())).code, "SQL_STATEMENT_COUNT")
    })
  )
})
