import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { holds } from "../../support/properties.ts"
import { get } from "../../support/requests.ts"
import {
  anyCondition,
  asPair,
  type Condition,
  conditionTable,
  inside,
  negation,
  toSql,
  unknown
} from "../../support/rows/conditions.ts"

const suite = layer(layerDatabase({ name: "row_partition", before: conditionTable }), live)

type Pairs = ReadonlyArray<readonly [string, string]>

/** Ids of the rows that match all parameters. */
const idsOf = (...pairs: Pairs) =>
  Effect.map(
    get(`things?${new URLSearchParams([...pairs, ["select", "id"], ["order", "id"]] as never).toString()}`),
    (rows) => rows.map(({ id }) => Number(id))
  )
const idsWhere = (condition: Condition) => idsOf(asPair(condition))

/** Ids of the rows that match each condition, by plain SQL. */
const idsBySql = (...conditions: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const lists = conditions.map(
      (one, at) => `coalesce(array_agg(id order by id) filter (where ${one}), '{}') as c${at}`
    )
    const [row] = yield* sql(`select ${lists.join(", ")} from things`)
    return Object.values(row ?? {}) as ReadonlyArray<ReadonlyArray<number>>
  })

const everything = Array.from({ length: 84 }, (_, at) => at + 1)
const sorted = (...lists: ReadonlyArray<ReadonlyArray<number>>) => lists.flat().toSorted((a, b) => a - b)
const union = (...lists: ReadonlyArray<ReadonlyArray<number>>) => sorted([...new Set(lists.flat())])
const common = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) => a.filter((id) => b.includes(id))

suite("conditions", (it) => {
  it.effect("divide all rows into true, false and unknown", () =>
    holds(anyCondition, (condition) =>
      Effect.gen(function* () {
        const yes = yield* idsWhere(condition)
        const no = yield* idsWhere(negation(condition))
        const rest = yield* idsWhere(unknown(condition))
        assert.deepStrictEqual(sorted(yes, no, rest), everything)
        const text = toSql(condition)
        assert.deepStrictEqual([yes, no, rest], yield* idsBySql(text, `not (${text})`, `(${text}) is null`))
      })
    )
  )

  it.effect("can be split and merged", () =>
    holds(fc.tuple(anyCondition, anyCondition, anyCondition), ([a, b, c]) =>
      Effect.gen(function* () {
        const [A, B, C] = [a, b, c].map(inside) as [string, string, string]
        const inA = yield* idsWhere(a)
        const inB = yield* idsWhere(b)
        const both = common(inA, inB)
        assert.deepStrictEqual(yield* idsOf(asPair(a), asPair(b)), both)
        assert.deepStrictEqual(yield* idsOf(["and", `(${A},${B})`]), both)
        assert.deepStrictEqual(yield* idsOf(["and", `(${B},${A})`], ["and", `(${A})`]), both)
        const either = union(inA, inB)
        assert.deepStrictEqual(yield* idsOf(["or", `(${A},${B})`]), either)
        assert.deepStrictEqual(yield* idsOf(["or", `(and(${A}),or(${B},${A}))`]), either)
        assert.deepStrictEqual(
          yield* idsOf(["not.or", `(${A},${B})`]),
          yield* idsOf(asPair(negation(a)), asPair(negation(b)))
        )
        assert.deepStrictEqual(
          yield* idsOf(["or", `(and(${A},${B}),and(${A},${C}))`]),
          yield* idsOf(asPair(a), ["or", `(${B},${C})`])
        )
        assert.deepStrictEqual(yield* idsOf(["not.and", `(not.and(${A},${B}))`]), both)
      })
    )
  )
})
