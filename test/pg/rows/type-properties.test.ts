import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { holds, sqlText } from "../../support/properties.ts"
import { get, raw } from "../../support/requests.ts"

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: length })
const joined = (...parts: ReadonlyArray<fc.Arbitrary<unknown> | string>) =>
  fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part))).map((all) => all.join(""))
const among = (...texts: ReadonlyArray<string>) => fc.constantFrom(...texts)
const some = (arbitrary: fc.Arbitrary<string>) => fc.oneof(arbitrary, fc.constant(""))
const hex = (length: number) => fc.string({ unit: among(..."0123456789abcdef"), minLength: length, maxLength: length })
const text = fc.string({ unit: "binary", maxLength: 8 }).map((any) => any.replaceAll("\0", ""))
const word = fc.string({ unit: among(..."ab ,\"\\{}()'%é😀"), maxLength: 5 })
const bits = (min: number, max: number) => fc.string({ unit: among("0", "1"), minLength: min, maxLength: max })
const int = (bytes: number) =>
  fc.bigInt({ min: -(1n << BigInt(bytes * 8 - 1)), max: (1n << BigInt(bytes * 8 - 1)) - 1n }).map(String)
const numeric = fc.oneof(
  joined(among("", "-"), digits(30), some(joined(".", digits(20)))),
  among("NaN", "Infinity", "-Infinity", "1e-20", "1.10")
)
const float = (width: "float" | "double") =>
  fc.oneof(
    (width === "float" ? fc.float() : fc.double()).map((value) => (Object.is(value, -0) ? "-0" : String(value))),
    among("NaN", "Infinity", "-Infinity")
  )
const small = fc.integer({ min: -99, max: 99 }).map(String)
const two = (max: number) => fc.nat(max).map((n) => String(n).padStart(2, "0"))
const date = fc.oneof(
  joined(
    fc.integer({ min: 1, max: 9999 }).map((year) => String(year).padStart(4, "0")),
    "-",
    fc.integer({ min: 1, max: 12 }),
    "-",
    fc.integer({ min: 1, max: 28 }),
    among("", "", "", " BC")
  ),
  among("infinity", "-infinity", "2024-02-29", "5874897-12-31")
)
const plainDate = joined(
  fc.integer({ min: 1900, max: 2100 }),
  "-",
  fc.integer({ min: 1, max: 12 }),
  "-",
  fc.integer({ min: 1, max: 28 })
)
const time = joined(two(23), ":", two(59), ":", two(59), some(joined(".", digits(6))))
const zone = fc.oneof(joined(among("+", "-"), two(14), among("", ":30", ":45")), among("Z", " Europe/Oslo", " UTC"))
const offset = joined(among("+", "-"), two(14), among("", ":30"))
const timestamp = fc.oneof(
  joined(plainDate, among("T", " "), time),
  among("infinity", "-infinity", "0001-01-01 00:00:00 BC")
)
const timestamptz = fc.oneof(
  joined(plainDate, among("T", " "), time, zone),
  among("infinity", "0044-03-15 12:00:00+00 BC")
)
const interval = fc.oneof(
  joined(small, " years ", small, " mons ", small, " days ", among("", "-"), time),
  among("P1Y2M3DT4H5M6.7S", "1 week ago", "infinity", "-00:00:00.000001")
)
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value))
  .filter((value) => !value.includes("\\u0000") && !/\\ud[89a-f]/.test(value))
const address = joined(fc.nat(255), ".", fc.nat(255), ".", fc.nat(255), ".", fc.nat(255))
const inet = fc.oneof(
  joined(address, some(joined("/", fc.integer({ min: 1, max: 32 })))),
  among("::1", "fe80::1/64", "::ffff:1.2.3.4")
)
const point = joined("(", small, ",", small, ".5)")
const range = (of: fc.Arbitrary<string>) =>
  fc.oneof(joined(among("[", "("), some(of), ",", some(of), among("]", ")")), among("empty", "(,)"))
const multirange = (of: fc.Arbitrary<string>) => fc.array(range(of), { maxLength: 3 }).map((all) => `{${all.join()}}`)
const quoted = (all: string) => `"${all.replaceAll(/["\\]/g, "\\$&")}"`
const array = (of: fc.Arbitrary<string>) =>
  fc.array(fc.oneof(of.map(quoted), among("NULL")), { maxLength: 4 }).map((all) => `{${all.join()}}`)
const uuid = joined(hex(8), "-", hex(4), "-", hex(4), "-", hex(4), "-", hex(12))
const bytes = fc
  .nat(12)
  .chain((length) => hex(length * 2))
  .map((all) => `\\x${all}`)
const mood = among("sad", 'so "so"', "a,b", "")

/** Texts of every built-in type, and of some derived ones. Some are invalid: the API must reject what PostgreSQL rejects. */
const types: ReadonlyArray<readonly [type: string, texts: fc.Arbitrary<string>]> = [
  ["smallint", int(2)],
  ["int", int(4)],
  ["bigint", int(8)],
  ["numeric", numeric],
  ["numeric(6,2)", joined(small, ".", digits(4))],
  ["real", float("float")],
  ["double precision", float("double")],
  ["money", joined(among("", "-"), "$", digits(3), ".", digits(2))],
  ["boolean", among("true", "false", "t", "f", "yes", "off", "1", "0", "TRUE")],
  ["text", text],
  ["varchar(3)", fc.string({ unit: "grapheme", maxLength: 4 }).map((any) => any.replaceAll("\0", ""))],
  ["char(4)", among("", "a", "ab  ", "abcd", "é")],
  ['"char"', among("", "a", "Z")],
  ["name", word],
  ["bytea", bytes],
  ["date", date],
  ["time", time],
  ["timetz", joined(time, offset)],
  ["timestamp", timestamp],
  ["timestamp(0)", timestamp],
  ["timestamptz", timestamptz],
  ["interval", interval],
  ["uuid", uuid],
  ["json", json],
  ["jsonb", json],
  ["jsonpath", among("$", '$."a b"', "lax $.a[*] ? (@ > 1)", "strict $.x")],
  ["xml", among("<a/>", '<a b="1">&amp;</a>', "text", "<a><![CDATA[<]]></a>")],
  ["inet", inet],
  ["cidr", fc.oneof(joined(address, "/32"), among("10.0.0.0/8", "::/0"))],
  ["macaddr", joined(hex(2), ":", hex(2), ":", hex(2), ":", hex(2), ":", hex(2), ":", hex(2))],
  ["macaddr8", joined(hex(16))],
  ["bit(4)", bits(4, 4)],
  ["varbit", bits(0, 9)],
  ["point", point],
  ["line", joined("{", among("1", "-2"), ",", small, ",", small, "}")],
  ["lseg", joined("[", point, ",", point, "]")],
  ["box", joined(point, ",", point)],
  ["path", fc.oneof(joined("[", point, ",", point, "]"), joined("(", point, ")"))],
  ["polygon", joined("(", point, ",", point, ",", point, ")")],
  ["circle", joined("<", point, ",", digits(2), ">")],
  ["int4range", range(small)],
  ["int8range", range(small)],
  ["numrange", range(joined(small, ".50"))],
  ["daterange", range(plainDate)],
  ["tsrange", range(joined(plainDate, "T", time))],
  ["tstzrange", range(joined('"', plainDate, " ", time, '+02"'))],
  ["int4multirange", multirange(small)],
  ["datemultirange", multirange(plainDate)],
  [
    "tsvector",
    fc.oneof(
      word.map((any) => `'${any.replaceAll("'", "''").replaceAll("\\", "\\\\")}'`),
      among("a:1A b:2", "", "fat cat")
    )
  ],
  ["tsquery", among("a & b", "!a | 'b c'", "a <-> b", "a:*B", "")],
  ["oid", fc.nat(4_294_967_295).map(String)],
  ["regclass", among("pg_class", "typed_0", "pg_catalog.pg_proc", "-")],
  ["regtype", among("int", "timestamp with time zone", "mood")],
  ["pg_lsn", joined(hex(3), "/", hex(4))],
  ["xid8", int(8).map((any) => any.replace("-", ""))],
  ["pg_snapshot", among("10:20:10,14,15", "1:1:")],
  ["int[]", array(int(4))],
  ["text[]", array(text)],
  ["numeric[]", array(numeric)],
  ["boolean[]", array(among("t", "f"))],
  ["timestamptz[]", array(joined(plainDate, " ", time, "+01"))],
  // An array of arrays would have another dimension.
  ["jsonb[]", array(json.filter((value) => !value.startsWith("[") && value !== "null"))],
  ["uuid[]", array(uuid)],
  ["bytea[]", array(bytes)],
  ["int[][]", among("{{1,2},{3,4}}", "{}", "{{1},{NULL}}")],
  ["int4range[]", array(range(small))],
  ["mood", mood],
  ["mood[]", array(mood)],
  ["positive", fc.integer({ min: -1, max: 9 }).map(String)],
  ["tags", array(word)],
  [
    "place",
    joined(
      "(",
      some(word.map(quoted)),
      ",",
      some(point.map(quoted)),
      ",",
      some(array(among("a", "b")).map(quoted)),
      ")"
    )
  ],
  ["place[]", among('{"(a,\\"(1,2)\\",{x})",NULL}', "{}")],
  ["span", range(joined(small, ".10"))]
]

const suite = layer(
  layerDatabase({
    name: "row_type_properties",
    before: `
      create type mood as enum ('sad', 'so "so"', 'a,b', '');
      create domain positive as int check (value > 0);
      create domain tags as text[];
      create type place as (name text, at point, tags text[]);
      create type span as range (subtype = numeric);
      ${types.map(([type], at) => `create table typed_${at} (id serial primary key, v ${type});`).join("\n")}`
  }),
  live
)

const operators = {
  eq: "=",
  neq: "<>",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
  isdistinct: "is distinct from"
} as const

/** The result, or the SQLSTATE of the error. */
const outcome = <A, R>(effect: Effect.Effect<A, { readonly code?: unknown }, R>) =>
  Effect.map(Effect.result(effect), (result) =>
    Result.isSuccess(result) ? result.success : { refused: result.failure.code }
  )

suite("values", (it) => {
  describe("are stored, returned, found and rejected as in plain SQL", () => {
    it.effect.each(types.map(([type, texts], at) => ({ type, texts, at, title: type })))(
      "$title",
      ({ type, texts, at }) =>
        Effect.gen(function* () {
          const { sql } = yield* Outside
          const table = `typed_${at}`
          const bySql = (text: string) =>
            outcome(
              Effect.catchDefect(sql(text), (cause) =>
                Effect.fail((cause as { readonly cause: { readonly code?: unknown } }).cause)
              )
            )
          yield* holds(
            fc.tuple(texts, texts, fc.constantFrom(...Object.entries(operators))),
            ([one, other, [name, sign]]) =>
              Effect.gen(function* () {
                yield* sql(`truncate ${table} restart identity`)
                const body = JSON.stringify([{ v: one }, { v: other }, { v: null }])
                // PostgreSQL parses a string by the type's input function; JSON types get the JSON text.
                const asJson = type === "json" || type === "jsonb"
                const sent = asJson ? `[{"v":${one}},{"v":${other}},{"v":null}]` : body
                const inserted = yield* outcome(
                  Effect.map(raw.post(`${table}?select=v`, sent), (answer) => answer.body)
                )
                // JSON's null becomes NULL.
                const rows = [one, other].map((value) =>
                  asJson && value === "null" ? "(null)" : `(${sqlText(value)})`
                )
                const expected = yield* bySql(
                  `with made as (insert into ${table} (v) values ${rows.join()}, (null) returning v) select json_agg(made)::text as text from made`
                )
                if ("refused" in expected) {
                  assert.deepStrictEqual(inserted as unknown, expected, sent)
                  return
                }
                const minified = (json: unknown) => JSON.stringify(JSON.parse(String(json)))
                assert.strictEqual(minified(inserted), minified(expected[0]?.["text"]), sent)
                const same = yield* sql(
                  `select count(*) as n from ${table} a join ${table} b on b.id = a.id + 3 where a.v::text is not distinct from b.v::text`
                )
                assert.strictEqual(Number(same[0]?.["n"]), 3, sent)

                const filters: ReadonlyArray<readonly [query: string, condition: string]> = [
                  [`v=${name}.${encodeURIComponent(one)}`, `v ${sign} ${sqlText(one)}`],
                  [`v=not.eq.${encodeURIComponent(other)}`, `not (v = ${sqlText(other)})`],
                  [
                    `v=in.(${encodeURIComponent([one, other].map(quoted).join())})`,
                    // Not IN, because the API compares with an array.
                    `v = any (${sqlText(`{${[one, other].map(quoted).join()}}`)})`
                  ],
                  [`or=(v.eq.${encodeURIComponent(quoted(one))},v.is.null)`, `v = ${sqlText(one)} or v is null`]
                ]
                for (const [query, condition] of filters) {
                  const found = yield* outcome(get(`${table}?select=id&order=id&${query}`))
                  const there = yield* bySql(`select id from ${table} where ${condition} order by id`)
                  assert.deepStrictEqual(found as unknown, there as unknown, `${query} / ${condition}`)
                }

                // A returned value can be sent again.
                const read = yield* raw.get(`${table}?select=v&id=eq.1`)
                yield* raw.patch(`${table}?id=eq.3`, read.body.slice(1, -1))
                const again = yield* sql(
                  `select a.v::text is not distinct from b.v::text as same from ${table} a, ${table} b where a.id = 1 and b.id = 3`
                )
                assert.deepStrictEqual(again, [{ same: true }], read.body)
              }),
            { runs: 6, millis: 0 }
          )
        })
    )
  })
})
