import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { channelOf } from "../../../src/domain/realtime/Subscription.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { brief, type Notification, watching } from "../../support/realtime/notifications.ts"

const suite = layer(
  layerDatabase({
    name: "realtime_rows",
    before: `
      create table wide (id int primary key, v text, w text);
      create table keyed (a int, v text, b text, primary key (b, a));
      create table keyless (v text, n int);
      create table long_key (id text primary key, n int);
      create table generated (a int primary key, twice int generated always as (a * 2) stored);
      create type pair as (x int, y text);
      create domain positive as int check (value > 0);
      create table typed (
        id bigint primary key, num numeric, f float8, j json, jb jsonb, bytes bytea, many int[][], texts text[], p pair,
        d positive, r int4range, ts timestamptz, t timestamp, iv interval, u uuid, b bool, c char(4), e text, m money,
        x xml, tv tsvector, net inet, bits bit(3)
      );`
  }),
  live
)

/** Characters of 1 to 4 bytes in UTF-8, and characters that JSON escapes. */
const characters = ["x", "é", "€", "𝄞", '"', "\\", "\n", "\u0001", "\u2028"]
const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2
const exact = (all: ReadonlyArray<Notification>) => all.map(({ payload }) => Buffer.byteLength(payload))

suite("a row in a notification", (it) => {
  it.effect("is complete up to 7,999 bytes, otherwise its key and what fits, for characters of any size", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("wide")
      const insert = "insert into wide select * from json_to_recordset($1) as r (id int, v text, w text)"
      const rows = (texts: ReadonlyArray<string>, first: number) =>
        texts.map((v, n) => ({ id: first + n, v, w: "kept" }))
      const [empty = 0] = exact(yield* notified(insert, [JSON.stringify(rows([""], 1000))]))
      for (const [n, character] of characters.entries()) {
        const texts = Array.from({ length: 151 }, (_, n) => {
          const room = 7900 + n - empty
          const many = Math.floor(room / jsonBytes(character))
          return character.repeat(many) + "x".repeat(room - many * jsonBytes(character))
        })
        const given = rows(texts, 2000 + n * 200)
        const all = yield* notified(insert, [JSON.stringify(given)])
        assert.strictEqual(all.length, 151)
        for (const [n, { old_row, row, truncated }] of all.entries()) {
          const about = `${character}: ${7900 + n} bytes`
          const { id, v, w } = given[n] ?? { id: 0 }
          assert.isNull(old_row)
          assert.strictEqual(truncated, 7900 + n > 7999 ? true : undefined, about)
          assert.deepStrictEqual(row, truncated ? { id, w } : { id, v, w }, about)
        }
        assert.deepStrictEqual(
          exact(all.slice(0, 100)),
          Array.from({ length: 100 }, (_, n) => 7900 + n)
        )
      }
    })
  )

  it.effect("keeps the keys of both rows, then the new row's columns, then the old one's", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("keyed")
      const [made] = yield* notified("insert into keyed values (1, repeat('x', 5000), 'k')")
      assert.notProperty(made, "truncated")
      const [changed] = yield* notified("update keyed set v = repeat('y', 4900), b = 'l'")
      assert.deepInclude(changed, {
        row: { a: 1, b: "l", v: "y".repeat(4900) },
        old_row: { a: 1, b: "k" },
        truncated: true
      })
      const [both] = yield* notified("update keyed set v = repeat('z', 8000)")
      assert.deepInclude(both, { row: { a: 1, b: "l" }, old_row: { a: 1, b: "l", v: "y".repeat(4900) } })
      const [gone] = yield* notified("delete from keyed")
      assert.deepInclude(gone, { row: null, old_row: { a: 1, b: "l" }, truncated: true })
    })
  )

  it.effect("contains what fits if there is no key, or if the key does not fit", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      for (const table of ["keyless", "long_key"]) yield* watch(table)
      const [keyless] = yield* notified("insert into keyless values (repeat('x', 9000), 3)")
      assert.deepInclude(keyless, { row: { n: 3 }, truncated: true })
      const [longKey] = yield* notified("insert into long_key values (repeat('x', 9000), 3)")
      assert.deepInclude(longKey, { row: { n: 3 }, truncated: true })
      const [moved] = yield* notified("update long_key set id = repeat('y', 9000)")
      assert.deepInclude(moved, { row: { n: 3 }, old_row: { n: 3 }, truncated: true })
      const [gone] = yield* notified("delete from long_key")
      assert.deepInclude(gone, { row: null, old_row: { n: 3 }, truncated: true })
    })
  )

  it.effect("may have 8 MB", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("wide")
      yield* sql("truncate wide")
      const all = yield* notified(`insert into wide select n, repeat('é', 4000000), 'w' from generate_series(1, 2) n;
        update wide set v = repeat('x', 8000000) where id = 1; delete from wide where id = 2`)
      assert.deepStrictEqual(
        all.map(({ operation, row, truncated }) => [operation, row, truncated]),
        [
          ["INSERT", { id: 1, w: "w" }, true],
          ["INSERT", { id: 2, w: "w" }, true],
          ["UPDATE", { id: 1, w: "w" }, true],
          ["DELETE", null, true]
        ]
      )
      assert.deepStrictEqual(yield* sql("select octet_length(v) as n from wide"), [{ n: 8_000_000 }])
    })
  )

  it.effect("may have 1,600 columns", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      const columns = Array.from({ length: 1600 }, (_, n) => `c${n} int2 default ${n}`)
      yield* sql(`create table broad (${columns.join()}, constraint k primary key (c1599))`)
      yield* watch("broad")
      const [made] = yield* notified("insert into broad default values")
      assert.isTrue(made?.truncated)
      const names = Object.keys(made?.row ?? {})
      assert.isAbove(names.length, 500)
      assert.deepStrictEqual(names, ["c1599", ...Array.from({ length: names.length - 1 }, (_, n) => `c${n}`)])
      const [changed] = yield* notified("update broad set c0 = 1")
      assert.strictEqual(changed?.row?.["c1599"], 1599)
      assert.strictEqual(changed?.old_row?.["c1599"], 1599)
    })
  )

  it.effect("has values as PostgreSQL formats them in JSON, with exact numbers and times in UTC", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("typed")
      const values = [
        `(9223372036854775807, 12345678901234567890.12345678901234567890, 'NaN', '{"a": 1,  "a":1e400, "n": "\\u0000"}',
          '{"big": 12345678901234567890.10}', '\\x00ff', '{{1,2},{3,null}}', array['a"b', null], '(1,"q"",")', 7, '[1,5)',
          '2026-01-02 03:04:05.678901+09', '2026-01-02 03:04:05', '1 day 2 hours', gen_random_uuid(), true, 'ab',
          E'tab\\t"q" \\\\ \\u2028 𝄞', 12.34, '<a>b</a>', 'the cat', '10.0.0.1/8', '101')`,
        "(2, 'NaN', 'Infinity', 'null', 'null', '', '{}', '{}', null, null, 'empty', 'infinity', '-infinity')",
        "(3, 'Infinity', '-Infinity', '[]', '\"\"')",
        "(4, 1e100, 1e-300)"
      ]
      // In a session with its own formats of times and numbers.
      const odd =
        "set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set extra_float_digits = -15; set bytea_output = 'escape'"
      for (const value of values) {
        yield* sql(odd)
        const [made] = yield* notified(`insert into typed values ${value}`)
        yield* sql("reset datestyle; set timezone = 'UTC'")
        const [stored] = yield* sql("select row_to_json(typed)::text as text from typed where id = $1::text::bigint", [
          /^\((\d+)/.exec(value)?.[1]
        ])
        yield* sql("reset all")
        assert.include(made?.payload, `,"row":${String(stored?.["text"])},"old_row":null,`)
        assert.notProperty(made, "truncated")
      }
      const [read] = yield* notified("update typed set num = num where id = 9223372036854775807")
      assert.include(
        read?.payload,
        '"id":9223372036854775807,"num":12345678901234567890.12345678901234567890,"f":"NaN"'
      )
      assert.include(read?.payload, '"ts":"2026-01-01T18:04:05.678901+00:00"')
    })
  )

  it.effect("has generated columns", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("generated")
      assert.deepInclude((yield* notified("insert into generated values (4)"))[0], { row: { a: 4, twice: 8 } })
      const [version] = yield* sql("select current_setting('server_version_num')::int >= 180000 as virtual")
      if (version?.["virtual"] !== true) return
      yield* sql(
        'create table virtual (a int, twice int generated always as (a * 2), "r" text, up text generated always as (upper(r)))'
      )
      yield* watch("virtual")
      const [made, changed] = yield* notified("insert into virtual values (4, default, 'b'); update virtual set a = 5")
      assert.deepInclude(made, { row: { a: 4, twice: 8, r: "b", up: "B" } })
      assert.deepInclude(changed, {
        row: { a: 5, twice: 10, r: "b", up: "B" },
        old_row: { a: 4, twice: 8, r: "b", up: "B" }
      })
    })
  )
})

suite("a table's name in a notification", (it) => {
  const pairs: ReadonlyArray<readonly [schema: string, table: string]> = [
    ["a", "b_c"],
    ["a_b", "c"],
    ["s".repeat(63), "t".repeat(63)],
    ["s".repeat(63), `${"t".repeat(62)}u`],
    ["é".repeat(31), "€".repeat(21)],
    ["𝄞".repeat(15), `x${"𝄞".repeat(15)}`],
    [`q"u'o`, `t"a'b\\le`],
    ["Mixed Case", "select"],
    ["new\nline", "$1 %I %s"]
  ]

  it.effect("is exact for any length and characters, even if two tables share a channel", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      const quote = (name: string) => `"${name.replaceAll('"', '""')}"`
      for (const [schema, table] of pairs) {
        yield* sql(`create schema if not exists ${quote(schema)}`)
        yield* sql(`create table ${quote(schema)}.${quote(table)} ("k""'é" int primary key, v text)`)
        const { channel } = yield* watch(table, schema)
        assert.strictEqual(channel, channelOf(schema, table))
      }
      for (const [schema, table] of pairs) {
        const all = yield* notified(`insert into ${quote(schema)}.${quote(table)} values (1, repeat('x', 9000))`)
        assert.deepStrictEqual(brief(all), [`INSERT ${schema}.${table}`])
        assert.deepInclude(all[0], { channel: channelOf(schema, table), row: { "k\"'é": 1 }, truncated: true })
      }
    })
  )
})
