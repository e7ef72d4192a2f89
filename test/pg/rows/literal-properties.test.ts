import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { layerDatabase, live } from "../../support/database.ts"
import { holds } from "../../support/properties.ts"
import { get, patch, post, remove } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "row_literals",
    before: `
      create table texts (id serial primary key, t text, c varchar, tags text[], doc jsonb, js json);
      create table around (id serial primary key, text int references texts on delete cascade);
      insert into texts (t, tags, doc, js) values ('other', '{other}', '{"other": 1}', '[]'), (null, null, null, null);`
  }),
  live
)

/** Any text that PostgreSQL can store. */
const text = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.string({ unit: fc.constantFrom(...`,().:*%_"'\\{}[]+&=#;?!/|<>->\t\n -ab1éß日😀`), maxLength: 10 })
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 15 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 15 }).map((any) => any.replaceAll("\0", "")) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      " ",
      "null",
      "NULL",
      "eq.1",
      "not.null",
      "(a,b)",
      "{a,b}",
      '"',
      '""',
      "\\",
      '\\"',
      "%41",
      "+",
      "a+b",
      "$1",
      "1",
      "-1",
      "or",
      "'; --"
    )
  }
)

const everyByte = (all: string) =>
  [...new TextEncoder().encode(all)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")
/** Ways to write a text in a query string; the last one escapes only what is necessary. */
const encodings: ReadonlyArray<(all: string) => string> = [
  encodeURIComponent,
  (all) => new URLSearchParams([["", all]]).toString().slice(1),
  everyByte,
  (all) => all.replaceAll(/[%&+#=]/g, encodeURIComponent)
]
const encoding = fc.constantFrom(...encodings)

const quoted = (all: string) => `"${all.replaceAll(/["\\]/g, "\\$&")}"`
/** Quotes an element of an array literal. */
const array = (...items: ReadonlyArray<string>) => `{${items.map(quoted).join()}}`
/** A pattern that matches only the text itself, as far as possible: a star cannot be escaped. */
const pattern = (all: string) => all.replaceAll(/[\\%_]/g, "\\$&")

suite("any text", (it) => {
  it.effect("is found in every position of a value, in every encoding", () =>
    holds(
      fc.tuple(text, encoding, encoding),
      ([value, encode, again]) =>
        Effect.gen(function* () {
          const row = {
            t: value,
            c: value,
            tags: [value, "x"],
            doc: { [value]: value, l: [value] },
            js: { [value]: value }
          }
          const [made] = yield* post("texts", row)
          const { id, ...written } = made as { readonly id: number }
          assert.deepStrictEqual(written as unknown, row)
          const whole = JSON.stringify(row.doc)
          const pairs: ReadonlyArray<readonly [string, string]> = [
            ["t", `eq.${value}`],
            ["c", `eq.${value}`],
            ["t", `in.(${quoted(value)})`],
            ["t", `in.(x,${quoted(value)},"")&id=eq.${id}`],
            ["t", `eq(any).${array(value, "y")}`],
            ["t", `not.isdistinct.${value}`],
            ["t", `like.${pattern(value)}`],
            ["t", `ilike(all).${array(pattern(value))}`],
            ["or", `(t.eq.${quoted(value)},id.lt.0)`],
            ["and", `(t.in.(${quoted(value)}),not.or(t.neq.${quoted(value)}))`],
            ["and", `(t.eq(any).${quoted(array(value))})`],
            ["tags", `cs.${array(value)}`],
            ["tags", `eq.${array(value, "x")}`],
            ["and", `(tags.cs.${quoted(array(value))})`],
            ["tags->>0", `eq.${value}`],
            ["doc", `eq.${whole}`],
            ["doc", `cs.${whole}`],
            ["and", `(doc.cs.${quoted(whole)})`],
            [`doc->>${quoted(value)}`, `eq.${value}`],
            [`doc->${quoted(value)}`, `eq.${JSON.stringify(value)}`],
            [`js->>${quoted(value)}`, `eq.${value}`],
            ["and", `(doc->>${quoted(value)}.eq.${quoted(value)})`],
            ["doc->l->>0", `eq.${value}`]
          ]
          for (const [key, test] of pairs) {
            const [one = "", ...more] = test.split(/(?=&id=eq)/)
            // Every text equals itself; the other rows are "other" and null.
            const line = `texts?select=id&${encode(key)}=${again(one)}${more.join("")}`
            const found = yield* get(line)
            if (key === "t" && test.startsWith("ilike")) assert.deepInclude(found as ReadonlyArray<unknown>, { id })
            else if (value.includes("*") && test.startsWith("like"))
              assert.deepInclude(found as ReadonlyArray<unknown>, { id })
            else assert.deepStrictEqual(found, [{ id }], line)
          }
          const without = yield* get(`texts?select=id&t=neq.${encode(value)}`)
          assert.deepStrictEqual(without, value === "other" ? [] : [{ id: 1 }])
          // The text as name, as alias, and within embeds.
          const [around] = yield* post("around", { text: id })
          const selected = encode(`${quoted(value)}:t,x:doc->>${quoted(value)},around!inner(id)`)
          const line = `texts?select=${selected}&order=${again(`doc->>${quoted(value)}.desc.nullslast`)}`
          if (value !== "" && value !== "x" && value !== "around" && Buffer.byteLength(value) < 64) {
            assert.deepStrictEqual(
              yield* get(line),
              [{ [value]: value, x: value, around: [{ id: around?.["id"] }] }],
              line
            )
          }
          const embedded = yield* get(
            `around?select=texts(t)&texts.t=${encode(`eq.${value}`)}&texts.or=${again(`(t.eq.${quoted(value)})`)}&texts=not.is.null`
          )
          assert.deepStrictEqual(embedded as unknown, [{ texts: { t: value } }])
          assert.deepStrictEqual(yield* patch(`texts?t=eq.${encode(value)}&select=t`, { t: `${value}!` }), [
            { t: `${value}!` }
          ])
          assert.deepStrictEqual(yield* remove(`texts?t=eq.${again(`${value}!`)}&select=id`), [{ id }])
        }),
      { runs: 60 }
    )
  )
})
