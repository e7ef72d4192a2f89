import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Db } from "../../../src/services/ports/Db.ts"
import { Rows } from "../../../src/services/rows/Rows.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { noPreferences } from "../../../src/domain/rows/Preferences.ts"
import { asJson, service } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "row_logic",
    before: `
      create table kinds (id int primary key, kind text);
      insert into kinds values (1, 'a'), (2, 'b'), (3, null);
      create table things (
        id int primary key, n int, t text, ok boolean, tags text[], doc jsonb, span int4range, kind int references kinds
      );
      insert into things
        select i, nullif(i % 5, 0), (array['x', 'xy', 'a,b', '"q"', null, ''])[1 + i % 6], (array[true, false, null])[1 + i % 3],
          (array['{a,b}', '{}', null, '{b}'])[1 + i % 4]::text[],
          (array['{"k": 1, "s": "v"}'::jsonb, '{"k": null}', '[1, 2]', null, '{"s": "w"}'])[1 + i % 5],
          (array['[1,5)'::int4range, 'empty', null, '[3,9)'])[1 + i % 4], nullif(i % 4, 0)
        from generate_series(1, 60) i;`
  }),
  live
)

/** A condition on one column, and that column (or path in it), which alone decides whether it is neither true nor false. */
interface Condition {
  readonly on: string
  readonly test: string
}

const of = (on: string, ...tests: ReadonlyArray<string>) =>
  fc.constantFrom(...tests).map((test): Condition => ({ on, test }))
const simple = fc.oneof(
  of("n", "eq.1", "neq.2", "gt.1", "gte.3", "lt.4", "lte.1", "in.(1,2,3)", "in.()", "eq(any).{1,4}", "gt(all).{1,2}"),
  of(
    "t",
    "eq.x",
    "eq.a,b",
    'eq."q"',
    "eq.",
    "like.x*",
    "ilike.*Y",
    "match.^x",
    "imatch.^X.$",
    'in.(x,"a,b")',
    "neq.xy",
    "like(any).{x*,*q*}"
  ),
  of("ok", "eq.true", "neq.false"),
  of("tags", "cs.{a}", "cd.{a,b}", "ov.{b,c}", "eq.{}"),
  of("doc", 'cs.{"k":1}', "cd.{}", 'eq.{"k":null}'),
  of("doc->>s", "eq.v", "gt.v", "like.*"),
  of("doc->k", "eq.1", "neq.null"),
  of("span", "cs.[2,3)", "ov.[2,4)", "sl.[6,9)", "sr.[0,2)", "nxr.[0,9)", "nxl.[1,4)", "adj.[5,6)", "eq.empty"),
  of("kind", "eq.1", "in.(1,2)", "neq.1")
)

const quoted = (value: string) => (/[,()"\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value)
/** Formats a condition within a logic tree, where values with reserved characters are quoted. */
const nested = ({ on, test }: Condition, negated = false) => {
  const list = test.startsWith("in.") || test.includes(").{")
  const dot = test.indexOf(".") + 1
  const value = list || test.slice(dot).startsWith("{") ? test.slice(dot) : quoted(test.slice(dot))
  return `${on}.${negated ? "not." : ""}${test.slice(0, dot)}${value}`
}

type Pairs = ReadonlyArray<readonly [string, string]>

const idsOf = (pairs: Pairs) =>
  Effect.gen(function* () {
    const { main } = yield* Db
    const { body } = yield* (yield* Rows).read({
      database: main,
      actor: service,
      schema: "public",
      searchPath: "public",
      table: "things",
      // If a parameter is repeated, the first one applies.
      query: [...pairs, ["select", "id"], ["order", "id"]],
      preferences: noPreferences,
      range: undefined,
      form: asJson,
      context: { method: "GET", path: "/things", headers: "{}", cookies: "{}" }
    })
    return (JSON.parse(String(body)) as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)
  })

const everything = Array.from({ length: 60 }, (_, at) => at + 1)
const sorted = (...lists: ReadonlyArray<ReadonlyArray<number>>) => lists.flat().toSorted((a, b) => a - b)

const property = <A>(arbitrary: fc.Arbitrary<A>, holds: (value: A) => Effect.Effect<void, unknown, Rows | Db>) =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context<Rows | Db>())
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => run(holds(value))),
        { numRuns: 150 }
      )
    )
  })

suite("logic", (it) => {
  it.effect("divides all rows into true, false and unknown", () =>
    property(simple, ({ on, test }) =>
      Effect.gen(function* () {
        const yes = yield* idsOf([[on, test]])
        const no = yield* idsOf([[on, `not.${test}`]])
        const unknown = yield* idsOf([[on, "is.null"]])
        const rest = test === "in.()" ? [] : unknown
        assert.deepStrictEqual(sorted(yes, no, rest), everything, `${on}=${test}`)
        assert.deepStrictEqual(yield* idsOf([["and", `(${nested({ on, test })})`]]), yes)
        assert.deepStrictEqual(yield* idsOf([["not.and", `(${nested({ on, test })})`]]), no)
      })
    )
  )

  it.effect("gives and, or and not their logical meaning", () =>
    property(fc.tuple(simple, simple, simple), ([a, b, c]) =>
      Effect.gen(function* () {
        const [A, B, C] = [a, b, c].map((one) => nested(one)) as [string, string, string]
        const both = yield* idsOf([
          [a.on, a.test],
          [b.on, b.test]
        ])
        assert.deepStrictEqual(yield* idsOf([["and", `(${A},${B})`]]), both)
        const either = yield* idsOf([["or", `(${A},${B})`]])
        const inA = yield* idsOf([[a.on, a.test]])
        const inB = yield* idsOf([[b.on, b.test]])
        assert.deepStrictEqual(either, sorted([...new Set([...inA, ...inB])]))
        assert.deepStrictEqual(
          yield* idsOf([["not.or", `(${A},${B})`]]),
          yield* idsOf([["and", `(${nested(a, true)},${nested(b, true)})`]])
        )
        assert.deepStrictEqual(
          yield* idsOf([["or", `(and(${A},${B}),and(${A},${C}))`]]),
          yield* idsOf([["and", `(${A},or(${B},${C}))`]])
        )
      })
    )
  )

  it.effect("filters embedded rows by the embed's own filter", () =>
    property(fc.tuple(simple, fc.constantFrom("eq.a", "neq.a", "like.*", "in.(a,b)")), ([{ on, test }, kind]) =>
      Effect.gen(function* () {
        const kinds = { "eq.a": [1], "neq.a": [2], "like.*": [1, 2], "in.(a,b)": [1, 2] }[kind] ?? []
        const expected = yield* idsOf([
          [on, test],
          ["kind", `in.(${kinds.join()})`]
        ])
        const embedded: Pairs = [
          [on, test],
          ["kinds.kind", kind]
        ]
        const select = (text: string) => (pairs: Pairs) => idsOf([["select", text], ...pairs])
        assert.deepStrictEqual(yield* select("id,kinds!inner(kind)")(embedded), expected)
        assert.deepStrictEqual(yield* select("id,kinds()")([...embedded, ["kinds", "not.is.null"]]), expected)
        const without = yield* select("id,kinds()")([...embedded, ["kinds", "is.null"]])
        assert.deepStrictEqual(sorted(expected, without), yield* idsOf([[on, test]]))
      })
    )
  )

  it.effect("returns pages that add up to all rows", () =>
    property(fc.tuple(simple, fc.integer({ min: 1, max: 25 })), ([{ on, test }, size]) =>
      Effect.gen(function* () {
        const all = yield* idsOf([[on, test]])
        const pages: Array<number> = []
        for (let offset = 0; offset <= all.length; offset += size) {
          pages.push(
            ...(yield* idsOf([
              [on, test],
              ["limit", String(size)],
              ["offset", String(offset)]
            ]))
          )
        }
        assert.deepStrictEqual(pages, all)
      })
    )
  )
})
