import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { type CallBody } from "../../../src/domain/rows/functions/Call.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, rawRpc, refusal, rpc, rpcText } from "../../support/requests.ts"

const f = (name: string, rest: string, body: string, language = "sql") =>
  `create function ${name} ${rest} language ${language} as $body$ ${body} $body$;`

const bodyOf = (line: string, body?: CallBody, method = "POST") =>
  Effect.map(rawRpc(line, body, { method }), (answer) => answer.body)
const get = (line: string) => bodyOf(line, undefined, "GET")

const bytes = (text: string) => new TextEncoder().encode(text)
const plain = (text: string): CallBody => ({ _tag: "Raw", media: "text/plain", bytes: bytes(text) })
const json = (value: unknown): CallBody => ({ _tag: "Json", json: Buffer.from(JSON.stringify(value)) })

const suite = layer(
  layerDatabase({
    name: "function_arguments",
    before: `
      create type mood as enum ('sad', 'glad');
      create type place as (name text, at point);
      create domain positive as int check (value > 0);
      create table notes (id int generated always as identity, text text);
      ${[
        f("add", "(a int, b int default 10) returns int immutable", "select a + b"),
        f("nothing", "() returns int", "select 1"),
        f(
          "joined",
          "(label text, variadic v text[] default '{}') returns text",
          "select label || array_to_string(v, '|')"
        ),
        f("total", "(variadic v numeric[]) returns numeric", "select sum(x) from unnest(v) x"),
        f("only_variadic", "(variadic text[]) returns text", "select 'v'"),
        f("listed", "(v int[]) returns int", "select cardinality(v)"),
        f("echo", "(v text) returns text", "select v"),
        f("echo_json", "(v jsonb) returns jsonb", "select v"),
        f("echo_mood", "(m mood) returns mood", "select m"),
        f("echo_moods", "(m mood[]) returns mood[]", "select m"),
        f("echo_positive", "(p positive) returns int", "select p"),
        f("echo_place", "(p place) returns place", "select p"),
        f("echo_time", "(t timestamptz) returns timestamptz", "select t"),
        f("echo_bits", "(b bit, c char) returns text", "select b::text || c"),
        f("echo_any", "(a anyelement) returns text", "select a::text"),
        f("takes_json", "(json) returns json", "select $1"),
        f("takes_jsonb", "(jsonb) returns jsonb", "select $1"),
        f("takes_text", "(text) returns text", "select $1"),
        f("takes_bytes", "(bytea) returns text", "select encode($1, 'hex')"),
        f("takes_default", "(json default '[0]') returns json", "select $1"),
        f("named_or_whole", "(json) returns text", "select 'whole'"),
        f("named_or_whole", "(a int) returns text", "select 'named'"),
        f("whole_twice", "(json) returns text", "select 'json'"),
        f("whole_twice", "(jsonb) returns text", "select 'jsonb'"),
        f("media", "(json) returns text", "select 'json'"),
        f("media", "(text) returns text", "select 'text'"),
        f("media", "(bytea) returns text", "select 'bytea'"),
        f("over", "(a int) returns text", "select 'a'"),
        f("over", "(a int, b text default '') returns text", "select 'ab'"),
        f("over", "(c text) returns text", "select 'c'"),
        f("writes", "(t text) returns int", "insert into notes (text) values (t) returning id"),
        f("volatile_reader", "() returns int volatile", "select 7"),
        f("sets", "() returns text stable", "begin perform set_config('a.b', 'c', false); return 'x'; end", "plpgsql")
      ].join("\n")}`
  }),
  live
)

suite("arguments of functions", (it) => {
  describe("in the query", () => {
    it.effect.each([
      ["add?a=1&b=2", "3"],
      ["add?a=1", "11"],
      ["add?a=1&a=2", "12"],
      ["add?a=%201", "11"],
      ["nothing", "1"],
      ["echo?v=a%20b%22", '"a b\\""'],
      ["echo?v=", '""'],
      ["echo?v=eq", '"eq"'],
      ["echo?v=1.5", '"1.5"'],
      ["echo?v=null", '"null"'],
      ["listed?v={1,2,3}", "3"],
      ["listed?v={}", "0"],
      ["joined?label=x", '"x"'],
      ["joined?label=x&v=a", '"xa"'],
      ['joined?label=x&v=a&v=b,"c\\', '"xa|b,\\"c\\\\"'],
      ["total?v=1&v=2.50", "3.50"],
      ["echo_json?v={%22b%22:1,%22a%22:[2]}", '{"a": [2], "b": 1}'],
      ["echo_mood?m=glad", '"glad"'],
      ["echo_moods?m={glad,sad}", '["glad","sad"]'],
      ["echo_positive?p=1", "1"],
      ["echo_place?p=(x,%22(1,2)%22)", '{"name":"x","at":"(1,2)"}'],
      ["echo_time?t=2020-01-01T00:00:00%2B01:00", '"2019-12-31T23:00:00+00:00"'],
      ["echo_bits?b=101&c=xyz", '"101xyz"'],
      ["over?c=1", '"c"'],
      ["over?a=1&b=2", '"ab"'],
      ["takes_default", "[0]"],
      ["volatile_reader", "7"],
      ["sets", '"x"'],
      ["add?a=1&columns=b", "11"]
    ] as const)("%s", ([line, expected]) => Effect.map(get(line), (body) => assert.strictEqual(body, expected)))

    it.effect.each([
      ["nowhere?a=1", "404 PGRST202"],
      ["add", "404 PGRST202"],
      ["add?a=1&c=2", "404 PGRST202"],
      ["takes_json", "404 PGRST202"],
      ["over?a=1", "300 PGRST203"],
      ["add?a=x", "400 22P02"],
      ["add?a=1&b=99999999999", "400 22003"],
      ["listed?v=1", "400 22P02"],
      ["total?v={1}", "400 22P02"],
      ["echo_mood?m=odd", "400 22P02"],
      ["echo_positive?p=0", "400 23514"],
      ["echo_any?a=1", "400 42804"],
      ["echo?v=%00", "400 22021"],
      ["writes?t=x", "405 25006"],
      ["only_variadic?v=1", "404 PGRST202"],
      ["add?a=1&b=not.x", "400 PGRST100"],
      ["add?a=1&select=(", "400 PGRST100"]
    ] as const)("%s is rejected", ([line, expected]) =>
      Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, expected))
    )

    it.effect("are accepted by HEAD, which returns no body", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* bodyOf("add?a=1", undefined, "HEAD"), "")
        assert.strictEqual(yield* refusal(rawRpc("writes?t=x", undefined, { method: "HEAD" })), "405 25006")
      })
    )

    it.effect("are listed in the error if no function matches", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(get("add?b=1"))
        assert.deepInclude(error, {
          error: "Could not find the function public.add(b) in the schema cache",
          details:
            "Searched for the function public.add with parameter b, but no matches were found in the schema cache."
        })
      })
    )
  })

  describe("as the whole body", () => {
    it.effect.each([
      ["takes_json", json({ b: 1, a: 2 }), '{"b":1,"a":2}'],
      ["takes_json", json([1, "x"]), '[1,"x"]'],
      ["takes_json", json(5), "5"],
      ["takes_json", json(null), "null"],
      ["takes_json", json({}), "{}"],
      ["takes_jsonb", json([{ b: 1, a: 2 }]), '[{"a": 2, "b": 1}]'],
      ["takes_default", json({ a: 1 }), '{"a":1}'],
      ["takes_default", { _tag: "None" }, "[0]"],
      ["takes_text", plain('a "b"\n'), '"a \\"b\\"\\n"'],
      ["takes_text", plain(""), '""'],
      [
        "takes_bytes",
        { _tag: "Raw", media: "application/octet-stream", bytes: new Uint8Array([0, 255, 92]) },
        '"00ff5c"'
      ],
      ["takes_bytes", { _tag: "Raw", media: "application/octet-stream", bytes: new Uint8Array() }, '""'],
      ["named_or_whole", json({ a: 1 }), '"named"'],
      ["named_or_whole", json({ b: 1 }), '"whole"'],
      ["media", json({ b: 1 }), '"json"'],
      ["media", plain("x"), '"text"'],
      ["media", { _tag: "Raw", media: "application/octet-stream", bytes: bytes("x") }, '"bytea"']
    ] as const)("%s %j", ([name, body, expected]) =>
      Effect.map(bodyOf(name, body), (text) => assert.strictEqual(text, expected))
    )

    it.effect.each([
      ["takes_text", json({ a: 1 }), "404 PGRST202"],
      ["takes_json", plain("{}"), "404 PGRST202"],
      ["takes_json", { _tag: "None" }, "400 22P02"],
      ["takes_text", { _tag: "Raw", media: "text/plain", bytes: new Uint8Array([255]) }, "400 PGRST102"],
      ["takes_text", plain("\0"), "400 22021"],
      ["whole_twice", json({ a: 1 }), "300 PGRST203"],
      ["nothing", plain(""), "404 PGRST202"],
      ["takes_text", { _tag: "Raw", media: "text/xml", bytes: bytes("<a/>") }, "404 PGRST202"]
    ] as const)("%s %j is rejected", ([name, body, expected]) =>
      Effect.map(refusal(rawRpc(name, body)), (found) => assert.strictEqual(found, expected))
    )

    it.effect("is named by type in the error if no function matches", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(rawRpc("add", plain("x")))
        assert.deepInclude(error, {
          error: "Could not find the function public.add in the schema cache",
          details:
            "Searched for the function public.add with a single unnamed text parameter, but no matches were found in the schema cache.",
          hint: null
        })
      })
    )
  })

  describe("in other bodies", () => {
    it.effect("can be a form, with values as text", () =>
      Effect.gen(function* () {
        const pairs = (...all: ReadonlyArray<readonly [string, string]>): CallBody => ({ _tag: "Pairs", pairs: all })
        assert.strictEqual(yield* bodyOf("add", pairs(["a", "1"], ["b", "2"])), "3")
        assert.strictEqual(yield* bodyOf("total", pairs(["v", "1"], ["v", "2"])), "3")
        assert.strictEqual(yield* refusal(rawRpc("add", pairs(["c", "1"]))), "404 PGRST202")
      })
    )

    it.effect("can be an array, whose first object is used", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* rpcText("add", [{ a: 1 }, { a: 5 }]), "11")
        assert.strictEqual(yield* refusal(rpc("add", [{ a: 1 }, { b: 5 }])), "400 PGRST102")
        assert.strictEqual(yield* refusal(rpc("add", [{ a: 1 }, 7])), "400 PGRST102")
        assert.strictEqual(yield* refusal(rpc("add", [7])), "400 PGRST102")
      })
    )

    it.effect("that are many and unknown are listed in part", () =>
      Effect.gen(function* () {
        const many = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`${at}`.padStart(200, "a"), at]))
        const error = yield* Effect.flip(rpc("add", many))
        assert.include(error.error, ", aaa")
        assert.include(error.error, " and 580 more")
        assert.isBelow(JSON.stringify(error).length, 6000)
      })
    )

    it.effect("are the keys named in `columns`", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* bodyOf("add?columns=a", json({ a: 1, b: 100, c: true })), "11")
        assert.strictEqual(yield* refusal(rawRpc("add?columns=a,c", json({ a: 1 }))), "404 PGRST202")
        assert.strictEqual(yield* refusal(rawRpc("add?columns=a", json([]))), "400 PGRST102")
      })
    )

    it.effect("can be arrays for VARIADIC arguments", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* rpcText("total", { v: [1, 2.5] }), "3.5")
        assert.strictEqual(yield* rpcText("joined", { label: "", v: ["a", "b"] }), '"a|b"')
      })
    )

    it.effect("are not read from the query of a POST", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* refusal(rawRpc("add?a=1", json({ a: 1 }))), "400 PGRST100")
        assert.strictEqual(yield* refusal(rawRpc("add?a=eq.1", json({ a: 1 }), { actor: anon })), "400 42703")
      })
    )
  })

  it.effect("can have a recreated type", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const made = `create type hue as enum ('red');
        create function hued(h hue) returns hue language sql immutable return h;`
      yield* sql(made)
      for (let n = 0; n < 3; n++) assert.strictEqual(yield* get("hued?h=red"), '"red"')
      yield* sql(`drop type hue cascade; ${made}`)
      for (let n = 0; n < 3; n++) assert.strictEqual(yield* get("hued?h=red"), '"red"')
    })
  )
})
