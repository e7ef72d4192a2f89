import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, refusal, rpc, rpcText, user } from "../../support/requests.ts"

const f = (name: string, rest: string, body: string, language = "sql") =>
  `create function ${name} ${rest} language ${language} as $body$ ${body} $body$;`

/** Removes the spaces and newlines that PostgreSQL puts between aggregated values. */
const spaceless = (text: string | undefined) => text?.replaceAll(/\s/g, "")

const suite = layer(
  layerDatabase({
    name: "functions",
    settings: { SVC_DB_TIMEOUT: "1500ms", SVC_DB_MAX_ROWS: "100" },
    before: `
      create type mood as enum ('sad', 'glad');
      create type place as (name text, at point);
      create domain positive as int check (value > 0);
      create domain home as place check ((value).name <> 'bad');
      create sequence counting;
      create table users (id int, name text);
      insert into users values (1, 'Ann'), (2, 'Bob');
      ${[
        f("add", "(a int, b int default 10) returns int", "select a + b"),
        f("nothing", "() returns int", "select 1"),
        f("total", "(variadic v numeric[]) returns numeric", "select sum(x) from unnest(v) x"),
        f("labelled", "(label text, variadic v int[] default '{}') returns text", "select label || cardinality(v)"),
        f("over", "(a int) returns text", "select 'a' || a"),
        f("over", "(a int, b int) returns text", "select 'ab'"),
        f("over", "(c text) returns text", "select 'c'"),
        f("torn", "(a int) returns text", "select 'int'"),
        f("torn", "(a text) returns text", "select 'text'"),
        f("torn_default", "(a int) returns text", "select '1'"),
        f("torn_default", "(a int, b int default 1) returns text", "select '2'"),
        f("one_user", "(wanted int) returns users", "select * from users where id = wanted"),
        f("all_users", "() returns setof users", "select * from users order by id"),
        f("no_users", "() returns setof users", "select * from users where false"),
        f("as_table", "() returns table (id int, name text)", "select id, name from users order by id"),
        f("as_narrow_table", "() returns table (id int)", "select id from users order by id"),
        f("as_composite_table", "() returns table (u users)", "select users from users order by id"),
        f("one_out", "(a int, out doubled int)", "select a * 2"),
        f("one_out_composite", "(out u users)", "select users from users where id = 1"),
        f("one_out_unnamed", "(out int)", "select 1"),
        f("two_outs", "(out x int, out y text)", "select 1, 'y'"),
        f("in_out", "(inout a int, inout b text default 'b')", "select a + 1, b || b"),
        f("set_of_outs", "(out x int, out y int) returns setof record", "values (1, 2), (3, 4)"),
        f("a_record", "() returns record", "select 1 as one, 'two' as two"),
        f("records", "() returns setof record", "select 1 as one union all select 2"),
        f("scalars", "(n int) returns setof int", "select generate_series(1, n)"),
        f("a_void", "(a int) returns void", "select 1"),
        f("void_plpgsql", "() returns void", "begin end", "plpgsql"),
        f("set_of_void", "() returns setof void", "select"),
        f("a_null", "() returns int", "select null::int"),
        f("null_user", "() returns users", "select null::users"),
        f("nulls", "() returns setof int", "values (null::int), (1)"),
        f("strict_one", "(a int) returns int strict", "select a"),
        f("a_json", "() returns json", `select '{"a": 1.10}'::json`),
        f("json_null", "() returns jsonb", "select 'null'::jsonb"),
        f("jsons", "() returns setof jsonb", "values ('1'::jsonb), ('null'), (null)"),
        f("ints", "() returns int[]", "select array[1, null]"),
        f("big", "() returns bigint", "select 9223372036854775807"),
        f("nan", "() returns float8", "select 'NaN'::float8"),
        f("text_value", "() returns text", "select E'q\"\\n'::text"),
        f("a_domain", "() returns positive", "select 1"),
        f("a_home", "() returns home", "select row('n', point(1, 2))::home"),
        f("homes", "() returns setof home", "select row('n', point(1, 2))::home"),
        f("polymorph", "(a int[]) returns int", "select a[1]"),
        f("echo_mood", "(m mood) returns mood", "select m"),
        f("echo_moods", "(m mood[]) returns mood[]", "select m"),
        f("echo_place", "(p place) returns place", "select p"),
        f("echo_places", "(p place[]) returns setof place", "select (unnest(p)).*"),
        f("echo_user", "(u users) returns text", "select u.name"),
        f("echo_range", "(r int4range) returns int4range", "select r"),
        f("echo_numeric", "(n numeric) returns numeric", "select n"),
        f("echo_char", "(c char) returns text", "select c || '.'"),
        f("echo_bits", "(b bit, bs bit[]) returns text", "select b::text || bs::text"),
        f("echo_varchar", "(v varchar) returns text", "select v"),
        f("echo_json", "(j json) returns json", "select j"),
        f("echo_positive", "(p positive) returns int", "select p"),
        f("echo_bytes", "(b bytea) returns int", "select octet_length(b)"),
        f("echo_any", "(a anyelement) returns anyelement", "select a"),
        f("unnamed", "(int) returns int", "select $1"),
        f("unnamed_default", "(int default 3) returns int", "select $1"),
        f('"naïve (1)"', '("ar, g" int, "$1" text, "日本" text) returns text', 'select "ar, g" || "$1" || "日本"'),
        f(
          "fails",
          "(state text, text text) returns void",
          `begin raise exception using errcode = state, message = text,
          detail = 'the detail', hint = 'the hint'; end`,
          "plpgsql"
        ),
        f("divides", "(by int) returns int", "select 1 / by"),
        f("sleeps", "() returns void", "select pg_sleep(60)"),
        f("asserts", "() returns void", "begin assert false; end", "plpgsql"),
        f("writes", "() returns bigint stable", "select nextval('counting')"),
        f("inserts", "(id int) returns int", "insert into users values (id) returning id"),
        f("on_row", "() returns trigger", "begin return new; end", "plpgsql"),
        f("private", "() returns int", "select 1"),
        f("atomic", "(a int) returns int immutable", "").replace("as $body$  $body$", "return a * 2")
      ].join("\n")}
      create procedure proceeds() language sql as $$ select 1 $$;
      create aggregate summing (int) (sfunc = int4pl, stype = int);
      revoke execute on function private() from public, anon, authenticated;`
  }),
  live
)

suite("functions", (it) => {
  describe("return results", () => {
    it.effect.each([
      ["add", { a: 1, b: 2 }, "3"],
      ["add", { b: 2, a: 1 }, "3"],
      ["add", { a: 1 }, "11"],
      ["add", { a: null }, "null"],
      ["add", { a: "1" }, "11"],
      ["nothing", {}, "1"],
      ["total", { v: [1, 2.5] }, "3.5"],
      ["total", { v: [] }, "null"],
      ["labelled", { label: "x" }, '"x0"'],
      ["labelled", { label: "x", v: [1, 2] }, '"x2"'],
      ["over", { a: 1 }, '"a1"'],
      ["over", { a: 1, b: 2 }, '"ab"'],
      ["over", { c: "x" }, '"c"'],
      ["torn_default", { a: 1, b: 2 }, '"2"'],
      ["one_user", { wanted: 1 }, '{"id":1,"name":"Ann"}'],
      ["one_user", { wanted: 7 }, "null"],
      ["null_user", {}, "null"],
      ["all_users", {}, '[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]'],
      ["no_users", {}, "[]"],
      ["as_table", {}, '[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]'],
      ["as_narrow_table", {}, '[{"id":1},{"id":2}]'],
      ["as_composite_table", {}, '[{"u":{"id":1,"name":"Ann"}},{"u":{"id":2,"name":"Bob"}}]'],
      ["one_out", { a: 2 }, '{"doubled":4}'],
      ["one_out_composite", {}, '{"u":{"id":1,"name":"Ann"}}'],
      ["one_out_unnamed", {}, '{"one_out_unnamed":1}'],
      ["two_outs", {}, '{"x":1,"y":"y"}'],
      ["in_out", { a: 1 }, '{"a":2,"b":"bb"}'],
      ["set_of_outs", {}, '[{"x":1,"y":2},{"x":3,"y":4}]'],
      ["a_record", {}, '{"one":1,"two":"two"}'],
      ["records", {}, '[{"one":1},{"one":2}]'],
      ["scalars", { n: 3 }, "[1,2,3]"],
      ["scalars", { n: 0 }, "[]"],
      ["a_null", {}, "null"],
      ["nulls", {}, "[null,1]"],
      ["strict_one", { a: null }, "null"],
      ["a_json", {}, '{"a": 1.10}'],
      ["json_null", {}, "null"],
      ["jsons", {}, "[1,null,null]"],
      ["ints", {}, "[1,null]"],
      ["big", {}, "9223372036854775807"],
      ["nan", {}, '"NaN"'],
      ["text_value", {}, '"q\\"\\n"'],
      ["a_domain", {}, "1"],
      ["a_home", {}, '{"name":"n","at":"(1,2)"}'],
      ["homes", {}, '[{"name":"n","at":"(1,2)"}]'],
      ["echo_mood", { m: "glad" }, '"glad"'],
      ["echo_moods", { m: ["glad", null] }, '["glad",null]'],
      ["echo_place", { p: { name: "x", at: "(1,2)" } }, '{"name":"x","at":"(1,2)"}'],
      ["echo_places", { p: [{ name: "x" }, { at: "(1,2)" }] }, '[{"name":"x","at":null},{"name":null,"at":"(1,2)"}]'],
      ["echo_user", { u: { id: 1, name: "Eve" } }, '"Eve"'],
      ["echo_range", { r: "[1,3]" }, '"[1,4)"'],
      [
        "echo_numeric",
        '{"n": 12345678901234567890.123456789012345678901234567890}',
        "12345678901234567890.123456789012345678901234567890"
      ],
      ["echo_char", { c: "abc" }, '"abc."'],
      ["echo_bits", { b: "101", bs: ["11", "0"] }, '"101{11,0}"'],
      ["echo_varchar", { v: "abc" }, '"abc"'],
      ["echo_json", '{"j": {"b":1.0,  "a":[]}}', '{"b":1.0,  "a":[]}'],
      ["echo_positive", { p: 1 }, "1"],
      ["echo_bytes", { b: "\\x0001" }, "2"],
      ["unnamed", { "": 1 }, "1"],
      ["unnamed_default", {}, "3"],
      ["unnamed_default", { "": 1 }, "1"],
      ["naïve (1)", { "ar, g": 1, $1: "b", 日本: "c" }, '"1bc"'],
      ["atomic", { a: 2 }, "4"],
      ["a_void", { a: 1 }, undefined],
      ["void_plpgsql", {}, undefined],
      ["set_of_void", {}, undefined]
    ] as const)("%s %j", ([name, body, expected]) =>
      Effect.map(rpcText(name, body), (text) => assert.strictEqual(spaceless(text), spaceless(expected)))
    )

    it.effect("of sets up to the row cap", () =>
      Effect.map(rpc("scalars", { n: 1000 }), (rows) =>
        assert.strictEqual((rows as ReadonlyArray<unknown>).length, 100)
      )
    )
  })

  describe("return errors", () => {
    it.effect.each([
      ["nowhere", {}, "404 PGRST202"],
      ["add", {}, "404 PGRST202"],
      ["add", { a: 1, c: 2 }, "404 PGRST202"],
      ["add", { A: 1 }, "404 PGRST202"],
      ["unnamed", {}, "404 PGRST202"],
      ["two_outs", { x: 1 }, "404 PGRST202"],
      ["proceeds", {}, "404 PGRST202"],
      ["summing", {}, "404 PGRST202"],
      ["on_row", {}, "404 PGRST202"],
      ["over", { a: 1, c: "x" }, "404 PGRST202"],
      ["torn", { a: 1 }, "300 PGRST203"],
      ["torn_default", { a: 1 }, "300 PGRST203"],
      ["add", [], "400 PGRST102"],
      ["add", "null", "400 PGRST102"],
      ["add", "1", "400 PGRST102"],
      ["add", { a: "x" }, "400 22P02"],
      ["add", { a: 2147483648 }, "400 22003"],
      ["add", { a: 2147483647 }, "400 22003"],
      ["echo_mood", { m: "odd" }, "400 22P02"],
      ["echo_positive", { p: 0 }, "400 23514"],
      ["echo_place", { p: 1 }, "400 22023"],
      ["total", { v: 1 }, "400 22P02"],
      ["echo_any", { a: 1 }, "400 42P16"],
      ["divides", { by: 0 }, "400 22012"],
      ["sleeps", {}, "504 57014"],
      ["asserts", {}, "500 P0004"],
      ["writes", {}, "405 25006"],
      ["fails", { state: "P0001", text: "no" }, "400 P0001"],
      ["fails", { state: "PT402", text: "pay" }, "402 PT402"],
      ["fails", { state: "PT503", text: "later" }, "503 PT503"],
      ["fails", { state: "PT999", text: "no status" }, "500 PT999"],
      ["fails", { state: "22012", text: "made up" }, "400 22012"],
      ["fails", { state: "23505", text: "made up" }, "409 23505"],
      ["fails", { state: "42501", text: "made up" }, "403 42501"],
      ["fails", { state: "40001", text: "again" }, "409 40001"],
      ["fails", { state: "57014", text: "made up" }, "504 57014"],
      ["fails", { state: "ABCDE", text: "own" }, "400 ABCDE"],
      ["fails", { state: "XX000", text: "internal" }, "500 XX000"],
      ["fails", { state: "P0002", text: "no data" }, "500 P0002"],
      // The driver's error for a missing prepared statement; the function must not run a second time.
      ["fails", { state: "26000", text: "made up" }, "400 26000"],
      ["fails", { state: "0A000", text: "made up" }, "400 0A000"]
    ] as const)("%s %j", ([name, body, expected]) =>
      Effect.map(refusal(rpc(name, body)), (found) => assert.strictEqual(found, expected))
    )

    it.effect("with the message, detail and hint that were raised", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(rpc("fails", { state: "PT418", text: "a teapot" }))
        assert.deepInclude(error, {
          status: 418,
          error: "a teapot",
          code: "PT418",
          details: "the detail",
          hint: "the hint"
        })
      })
    )

    it.effect("that suggest similar functions", () =>
      Effect.gen(function* () {
        const unknown = yield* Effect.flip(rpc("add", { c: 1, a: 1 }))
        assert.deepInclude(unknown, {
          error: "Could not find the function public.add(a, c) in the schema cache",
          details:
            "Searched for the function public.add with parameters a, c or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
          hint: "Perhaps you meant to call the function public.add(a, b)"
        })
        const torn = yield* Effect.flip(rpc("torn", { a: 1 }))
        assert.deepInclude(torn, {
          error:
            "Could not choose the best candidate function between: public.torn(a => integer), public.torn(a => text)",
          details: null,
          hint: "Try renaming the parameters or the function itself in the database so function overloading can be resolved"
        })
        const misspelt = yield* Effect.flip(rpc("nothings"))
        assert.deepInclude(misspelt, {
          error: "Could not find the function public.nothings without parameters in the schema cache",
          details:
            "Searched for the function public.nothings without parameters or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
          hint: "Perhaps you meant to call the function public.nothing"
        })
      })
    )

    it.effect("for callers without EXECUTE", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* refusal(rpc("private", {}, { actor: anon })), "401 42501")
        assert.strictEqual(yield* refusal(rpc("private", {}, { actor: user("a") })), "403 42501")
        assert.strictEqual(yield* rpc("private"), 1)
      })
    )
  })

  it.effect("commit their writes unless they fail", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(
        f("half", "() returns void", "begin insert into users values (11); raise exception 'no'; end", "plpgsql")
      )
      assert.strictEqual(yield* rpc("inserts", { id: 10 }), 10)
      assert.strictEqual(yield* refusal(rpc("half")), "400 P0001")
      assert.deepStrictEqual(yield* get("users?id=gte.10&select=id"), [{ id: 10 }])
    })
  )

  it.effect("accept types in schemas outside the caller's search_path", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`
        create schema apart; grant usage on schema apart to public;
        create type apart.hue as enum ('red');
        alter role postgres in database ${(yield* Outside).login.database} set search_path = apart, public;
        ${f("echo_hue", "(h apart.hue, hs apart.hue[]) returns text", "select h::text || hs::text")}`)
      assert.strictEqual(yield* rpc("echo_hue", { h: "red", hs: ["red"] }, { actor: anon }), "red{red}")
    })
  )
})
