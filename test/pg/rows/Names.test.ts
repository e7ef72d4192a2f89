import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { get, patch, post, raw, refusal, remove, rpc } from "../../support/requests.ts"

/** Names that are special to some layer between client and PostgreSQL. */
const names = [
  'quote"s',
  '"',
  '""',
  "it's",
  "per%cent",
  "%s %I %L",
  "dot.ted",
  "com,ma",
  "(paren",
  "paren)",
  "sp ace",
  " edge ",
  "$1",
  "$$",
  "back\\slash",
  "\\",
  "sla/sh",
  "que?stion",
  "am&p",
  "eq=ual",
  "pl+us",
  "ha#sh",
  "semi;colon",
  "--",
  "/*",
  "a->>b",
  "a::text",
  "*",
  "select",
  "order",
  "null",
  "Upper",
  "éàü",
  "日本",
  "عربي",
  "😀",
  "e\u0301",
  "\u202e",
  "tab\there",
  "new\nline",
  ":b",
  "@x",
  "{}",
  "[0]",
  "1",
  "__proto__",
  "constructor",
  "x".repeat(63),
  "é".repeat(31),
  "😀".repeat(15)
]

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
/** Formats a name for a query string. */
const inQuery = (name: string) => encodeURIComponent(`"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`)
const only = (name: string, value: unknown) => Object.fromEntries([[name, value]])

const before = names
  .map(quoted)
  .map(
    (name) => `create table ${name} (${name} text, other int default 1);
      create function ${name}(${name} text, b int default 2) returns text language sql as $q$ select $1 || b $q$;`
  )
  .join("\n")

layer(layerDatabase({ name: "row_names", before }), live)("names", (it) => {
  it.effect.each(names)("%s", (name) =>
    Effect.gen(function* () {
      const url = encodeURIComponent(name)
      const key = inQuery(name)
      assert.deepStrictEqual(yield* post(`${url}?select=${key}`, only(name, "v1")), [only(name, "v1")])
      assert.deepStrictEqual(yield* post(`${url}?columns=${key}&select=${key}`, only(name, "v2")), [only(name, "v2")])
      const mixed = [only(name, "v3"), { other: 3 }]
      assert.deepStrictEqual(yield* post(`${url}?select=${key},other`, mixed), [
        { ...only(name, "v3"), other: 1 },
        { ...only(name, null), other: 3 }
      ])
      assert.deepStrictEqual(yield* get(`${url}?select=${key}&${key}=eq.v1`), [only(name, "v1")])
      assert.deepStrictEqual(yield* get(`${url}?select=${key}&${key}=not.is.null&order=${key}.desc&limit=1`), [
        only(name, "v3")
      ])
      assert.deepStrictEqual(yield* patch(`${url}?${key}=in.(v2)&select=${key}`, only(name, "v4")), [only(name, "v4")])
      assert.strictEqual((yield* remove(`${url}?${key}=like.v*`)).length, 3)
      assert.strictEqual(yield* rpc(name, only(name, "v")), "v2")
    })
  )

  it.effect("work unquoted unless they contain reserved characters", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`create table bare ("Upper" int, "a-b" int, "sp ace" int, "é$_1" int)`)
      const row = { Upper: 1, "a-b": 2, "sp ace": 3, é$_1: 4 }
      yield* post("bare", row)
      assert.deepStrictEqual(yield* get("bare?select=Upper,a-b,sp+ace,%C3%A9$_1"), [row])
      assert.deepStrictEqual(yield* get("bare?a-b=eq.2&sp%20ace=eq.3&%C3%A9$_1=eq.4&order=a-b.desc,Upper"), [row])
      assert.strictEqual(yield* refusal(get("bare?upper=eq.1")), "400 42703")
    })
  )

  it.effect("that can't exist are rejected", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table real (a int)")
      for (const table of [
        "%00",
        "real%00",
        "%00real",
        "rea",
        "Real",
        "public.real",
        '"real"',
        "real;",
        "",
        "x".repeat(64)
      ]) {
        assert.match(yield* refusal(get(table)), /^404 PGRST205$/, table)
        assert.match(yield* refusal(rpc(decodeURIComponent(table))), /^404 PGRST202$/, table)
      }
      for (const query of [
        "select=%22%22",
        "select=%22%00%22",
        "%22%00%22=eq.1",
        "%22a%00%22=eq.1",
        "order=%22%00%22"
      ]) {
        assert.strictEqual(yield* refusal(get(`real?${query}`)), "400 PGRST100", query)
      }
      assert.strictEqual(yield* refusal(get("real?a=eq.%00")), "400 22021")
      assert.strictEqual(yield* refusal(post("real", { "a\0": 1 })), "400 PGRST204")
      assert.strictEqual(yield* refusal(raw.post("real", '{"\\ud800": 1}')), "400 PGRST204")
      assert.strictEqual(yield* refusal(rpc("real", { "": 1 })), "404 PGRST202")
    })
  )
})
