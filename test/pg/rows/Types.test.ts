import { assert, layer } from "@effect/vitest"
import { catalogueTypes } from "../../../src/domain/rows/parse/Select.ts"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { get, post, raw, refusal } from "../../support/requests.ts"

/** Type, sent value, returned value (default: the sent one): JSON texts, compared exactly. */
const values: ReadonlyArray<readonly [type: string, sent: string, returned?: string]> = [
  ["bigint", "9223372036854775807"],
  ["bigint", '"-9223372036854775808"', "-9223372036854775808"],
  ["smallint", "-32768"],
  ["oid", '"4294967295"'],
  ["numeric", "123456789012345678901234567890.12345678901234567890"],
  ["numeric", "1.10"],
  ["numeric", '"NaN"'],
  ["numeric", "1e-30", "0.000000000000000000000000000001"],
  ["numeric(5,2)", "1.005", "1.01"],
  ["real", "0.1"],
  ["double precision", '"NaN"'],
  ["double precision", '"-Infinity"'],
  ["double precision", "-0"],
  ["double precision", "1.7976931348623157e+308"],
  ["boolean", "false"],
  ["boolean", '"t"', "true"],
  ["text", '"\\u00e9\\ud83d\\ude00 \\" \\\\ \\n"', '"é😀 \\" \\\\ \\n"'],
  ["text", '""'],
  ["text", "12.50", '"12.50"'],
  ["text", '{"a": 1.0}', '"{\\"a\\": 1.0}"'],
  ["varchar(3)", '"abc"'],
  ["char(3)", '"x"', '"x  "'],
  ['"char"', '"x"'],
  ["name", '"x"'],
  ["bytea", '"\\\\x00ff"'],
  ["date", '"2026-02-28"'],
  ["date", '"infinity"'],
  ["timestamp", '"2026-01-01T12:00:00.123456"'],
  ["timestamptz", '"2026-01-01T12:00:00.123456+02:00"', '"2026-01-01T10:00:00.123456+00:00"'],
  ["timestamptz", '"-infinity"'],
  ["timestamptz", '"0044-03-15 12:00:00+00 BC"', '"0044-03-15T12:00:00+00:00 BC"'],
  ["time", '"24:00:00"'],
  ["timetz", '"12:00:00+02"'],
  ["interval", '"1 year 2 mons 3 days 04:05:06.000007"'],
  ["uuid", '"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"', '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"'],
  ["json", '{"a": 12345678901234567890.10, "a": null,  "b":[ ]}'],
  ["json", '"text"'],
  ["jsonb", '{"b": 12345678901234567890.10, "a": null}', '{"a": null, "b": 12345678901234567890.10}'],
  ["jsonb", "1.0"],
  ["jsonb", "[null]"],
  ["json", "null"],
  ["int4range", '"[1,5]"', '"[1,6)"'],
  ["int4range", '"empty"'],
  ["tstzrange", '"[2026-01-01,)"', '"[\\"2026-01-01 00:00:00+00\\",)"'],
  ["span", '"(1.10,2]"'],
  ["int4multirange", '"{[1,2],[5,6]}"', '"{[1,3),[5,7)}"'],
  ["int[]", "[1,null,-3]"],
  ["int[]", '"{1,2}"', "[1,2]"],
  ["int[][]", "[[1,2],[3,4]]"],
  ["text[]", '["a,b","\\"","NULL",null,"","{}"]'],
  ["bigint[]", "[9007199254740993]"],
  ["varchar(3)[]", '["abc"]'],
  ["jsonb[]", '[{"a": 1.10},null]', '[{"a": 1.10},null]'],
  ["mood", '"so \\"so\\""'],
  ["mood", '""'],
  ["mood[]", '["sad","a,b"]'],
  ["elsewhere.mood", '"grim"'],
  ["elsewhere.mood[]", '["grim"]'],
  ["positive", "7"],
  ["positive[]", "[7]"],
  ["place", '{"name":"a","at":"(1,2)","tags":["x"]}'],
  ["place[]", '[{"name":"a","at":"(1,2)","tags":["x","y"]},{"name":null,"at":null,"tags":null}]'],
  ["home", '{"name":"a","at":null,"tags":null}'],
  ["point", '"(1.5,-2)"'],
  ["box", '"(3,4),(1,2)"'],
  ["polygon", '"((0,0),(1,0),(1,1))"'],
  ["circle", '"<(1,2),3>"'],
  ["line", '"{1,2,3}"'],
  ["lseg", '"[(0,0),(1,1)]"'],
  ["path", '"[(0,0),(1,1)]"'],
  ["money", "1234.5", '"$1,234.50"'],
  ["bit(3)", '"101"'],
  ["bit varying", '"10"'],
  ["inet", '"10.0.0.1/8"'],
  ["cidr", '"10.0.0.0/8"'],
  ["macaddr", '"08:00:2b:01:02:03"'],
  ["tsvector", '"b a"', "\"'a' 'b'\""],
  ["tsquery", '"a & b"', "\"'a' & 'b'\""],
  ["xml", '"<a b=\\"1\\">&amp;</a>"'],
  ["pg_lsn", '"16/B374D848"'],
  ["xid8", '"18446744073709551615"'],
  ["regclass", '"pg_class"'],
  ["jsonpath", '"$.\\"a\\""']
]

const tables = values.map(([type], n) => `create table typed_${n} (id serial, v ${type}, note text default '-');`)

const suite = layer(
  layerDatabase({
    name: "row_types",
    before: `
      create type mood as enum ('sad', 'so "so"', 'a,b', '');
      create domain positive as int check (value > 0);
      create domain label as text not null;
      create type place as (name text, at point, tags text[]);
      create type span as range (subtype = numeric);
      create domain home as place;
      create schema elsewhere;
      create type elsewhere.mood as enum ('grim');
      ${tables.join("\n")}`
  }),
  live
)

suite("casts that a caller chooses", (it) => {
  it.effect("are none to types that read names of the catalogue", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      // Their input functions look names up, so they are not immutable; the others that are not read settings only.
      const found = yield* sql(`
        select t.typname::text as name from pg_type t join pg_proc p on p.oid = t.typinput
        where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype = 'b' and p.provolatile <> 'i'
          and t.typcategory not in ('A', 'D', 'T') and t.typname not in ('money', 'xml', 'json', 'jsonb', 'pg_node_tree')`)
      const names = found.map(({ name }) => String(name))
      assert.includeMembers(names, ["regclass", "aclitem"])
      assert.deepStrictEqual(
        names.filter((name) => !catalogueTypes.has(name)),
        []
      )
    })
  )
})

suite("values", (it) => {
  describe("of every type are returned as they were sent", () => {
    it.effect.each(values.map((value, n) => ({ value, n, title: value.join(" ") })))("$title", ({ value, n }) =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        const [, sent, returned = sent] = value
        const typed = `typed_${n}`
        const row = (id: number, v: string) => `{"id":${id},"v":${v},"note":"-"}`
        assert.strictEqual((yield* raw.post(typed, `{"v":${sent}}`)).body, `[${row(1, returned)}]`)
        // A returned value can be sent again.
        assert.strictEqual((yield* raw.post(typed, `[ {"v": ${returned}} ]`)).body, `[${row(2, returned)}]`)
        // Together with a row with other keys.
        const mixed = yield* raw.post(`${typed}?select=v`, `[{"note":"n"} , {"v" : ${sent} }]`)
        assert.strictEqual(mixed.body.replaceAll(/\s*\n\s*/g, ""), `[{"v":null},{"v":${returned}}]`)
        yield* raw.patch(`${typed}?id=eq.2`, `{"v":null}`)
        assert.strictEqual((yield* raw.patch(`${typed}?id=eq.2`, `{"v":${sent}}`)).body, `[${row(2, returned)}]`)
        assert.strictEqual((yield* raw.get(`${typed}?id=eq.1`)).body, `[${row(1, returned)}]`)
        const [own] = yield* sql(`select v::text as text from ${typed} where id = 1`)
        const found = yield* Effect.result(get(`${typed}?v=eq.${encodeURIComponent(String(own?.["text"]))}&select=id`))
        if (found._tag === "Failure") assert.include(["42883", "0A000", "22P02"], found.failure.code)
        else if (own?.["text"] !== null) assert.include(JSON.stringify(found.success), '{"id":1}')
      })
    )
  })

  describe("that are invalid for the type are rejected", () => {
    it.effect.each([
      ["int", '"x"', "400 22P02"],
      ["int", "2147483648", "400 22003"],
      ["int", "1.5", "400 22P02"],
      ["smallint", "40000", "400 22003"],
      ["numeric(3,1)", "1000", "400 22003"],
      ["numeric", "1e1000000", "400 22003"],
      ["date", '"2026-02-30"', "400 22008"],
      ["date", '"soon"', "400 22007"],
      ["uuid", '"x"', "400 22P02"],
      ["boolean", "7", "400 22P02"],
      ["mood", '"glad"', "400 22P02"],
      ["positive", "0", "400 23514"],
      ["label", "null", "400 23502"],
      ["varchar(2)", '"abc"', "400 22001"],
      ["bit(3)", '"1"', "400 22026"],
      ["bytea", '"\\\\xzz"', "400 22023"],
      ["int[]", '"{1,x}"', "400 22P02"],
      ["int[]", "7", "400 22P02"],
      ["int[]", "[[1],[2,3]]", "400 22P02"],
      ["place", "[]", "400 22023"],
      ["int4range", '"[5,1]"', "400 22000"],
      ["xml", '"<a>"', "400 2200N"],
      ["text", '"\\u0000"', "400 22P05"],
      ["text", '"\\ud800"', "400 22P02"],
      ["regclass", '"nowhere"', "404 42P01"]
    ] as const)("%s %s", ([type, sent, expected]) =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql(`drop table if exists typed; create table typed (id int, v ${type})`)
        // The catalogue of the table before this one refuses what may run user code, such as a domain's check.
        const settled = (body: string) =>
          Effect.repeat(refusal(raw.post("typed", body)), {
            while: (answer) => answer === "503 EXECUTION_IN_DOUBT",
            times: 20
          })
        assert.strictEqual(yield* settled(`{"v":${sent}}`), expected)
        assert.strictEqual(yield* settled(`[{"v":${sent}},{"id":1}]`), expected)
        assert.deepStrictEqual(yield* get("typed"), [])
      })
    )
  })

  it.effect("nested too deep for PostgreSQL are rejected", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table deep (id int, v json)")
      const deep = `{"v":${"[".repeat(500_000)}${"]".repeat(500_000)}}`
      assert.strictEqual(yield* refusal(raw.post("deep", deep)), "400 JSON_TOO_DEEP")
      assert.strictEqual(yield* refusal(raw.post("deep", `[${deep},{"id":1}]`)), "400 JSON_TOO_DEEP")
    })
  )

  it.effect("of NOT NULL domains are not set to NULL for missing columns", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(
        `create table labelled (id int primary key, l label default 'none', p positive default 1, m elsewhere.mood[],
           c char(3), b bit(3)[], n numeric(4,1))`
      )
      assert.deepStrictEqual(yield* post("labelled?select=id,l,p", { id: 1 }), [{ id: 1, l: "none", p: 1 }])
      const all = yield* post("labelled", [
        { id: 2, l: "two" },
        { id: 3, p: 3, m: ["grim"], c: "x", b: ["101"], n: 1.25 }
      ])
      assert.deepStrictEqual(all, [
        { id: 2, l: "two", p: 1, m: null, c: null, b: null, n: null },
        { id: 3, l: "none", p: 3, m: ["grim"], c: "x  ", b: ["101"], n: 1.3 }
      ])
      const changed = { m: ["grim"], c: "y", b: ["111"], n: 0.05 }
      assert.deepInclude(yield* raw.patch("labelled?id=eq.1&select=m,c,b,n", changed), {
        body: '[{"m":["grim"],"c":"y  ","b":["111"],"n":0.1}]',
        count: 1,
        offset: 0
      })
      assert.strictEqual(yield* refusal(post("labelled", { id: 4, l: null })), "400 23502")
    })
  )

  it.effect("of a column whose type just changed are parsed by the new type", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table changing (id int, v int)")
      yield* post("changing", { v: 1 })
      yield* sql("alter table changing alter v type text using v || '!'")
      assert.deepStrictEqual(yield* post("changing", { v: "x" }), [{ id: null, v: "x" }])
      assert.deepStrictEqual(yield* get("changing?v=eq.1!"), [{ id: null, v: "1!" }])
    })
  )
})
