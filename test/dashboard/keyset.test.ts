import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import {
  type Condition,
  conditionText,
  equalIn,
  type Order,
  parameterOf,
  partsBehind,
  reversed
} from "../../dashboard/src/tables/rows/keyset.ts"
import type { Row } from "../../dashboard/src/tables/rows/identity.ts"

const columns = ["a", "b", "id"]
/** `id` is the key. */
const nullable = new Set(["a", "b"])
const table = fc
  .array(fc.record({ a: fc.option(fc.integer({ min: 0, max: 3 })), b: fc.option(fc.integer({ min: 0, max: 3 })) }), {
    maxLength: 20
  })
  .map((rows): ReadonlyArray<Row> => rows.map((row, id) => Object.assign({ id }, row)))
const order = fc
  .tuple(fc.subarray(["a", "b"], { minLength: 0 }), fc.infiniteStream(fc.boolean()))
  .map(([chosen, directions]): ReadonlyArray<Order> =>
    [...chosen, "id"].map((column) => ({ column, desc: directions.next().value === true }))
  )

/** PostgreSQL's: NULL is last ascending, first descending. */
const compare = (order: ReadonlyArray<Order>) => (one: Row, other: Row) => {
  for (const { column, desc } of order) {
    const [x, y] = [one[column] as number | null, other[column] as number | null]
    if (x === y) continue
    const rising = x === null ? 1 : y === null ? -1 : x - y
    return desc ? -rising : rising
  }
  return 0
}

const holds = (condition: Condition, row: Row): boolean => {
  switch (condition.tag) {
    case "null":
      return (row[condition.column] === null) !== condition.not
    case "compare": {
      const [value, other] = [row[condition.column] as number | null, condition.value as number]
      if (value === null) return false
      const { operator } = condition
      if (operator === "eq") return value === other
      if (operator === "gt" || operator === "gte") return value > other || (operator === "gte" && value === other)
      return value < other || (operator === "lte" && value === other)
    }
    default:
      return condition.tag === "and"
        ? condition.all.every((one) => holds(one, row))
        : condition.all.some((one) => holds(one, row))
  }
}

describe("partsBehind", () => {
  it("are the rows behind a row, in order and each once, forwards and backwards", () => {
    fc.assert(
      fc.property(table, order, fc.nat(), (rows, order, at) => {
        for (const direction of [order, reversed(order)]) {
          const sorted = rows.toSorted(compare(direction))
          const place = sorted.length === 0 ? 0 : at % sorted.length
          const anchor = sorted[place]
          if (anchor === undefined) return
          for (let equal = 0; equal < direction.length; equal++) {
            const read = partsBehind(direction, anchor, nullable, equal).flatMap((part) =>
              sorted.filter((row) => part.every((condition) => holds(condition, row)))
            )
            assert.deepStrictEqual(read, sorted.slice(place + 1))
          }
        }
      })
    )
  })

  it("has a bound that an index can begin at", () => {
    const behind = partsBehind(
      [
        { column: "a", desc: false },
        { column: "id", desc: false }
      ],
      { a: 5, id: 7 },
      nullable,
      0
    )
    assert.deepStrictEqual(
      behind.map((part) => part.map(parameterOf)),
      [
        [
          ["a", "gte.5"],
          ["or", '(a.gt."5",and(a.eq."5",or(id.gt."7")))']
        ],
        [["a", "is.null"]]
      ]
    )
  })
})

describe("equalIn", () => {
  it("is the number of first columns in which a page has one value, of which the next page has a part of its own", () => {
    const by = ["a", "b", "id"].map((column) => ({ column, desc: false }))
    const page = (...values: ReadonlyArray<readonly [number, number | null, number]>) =>
      equalIn(
        by,
        values.map(([a, b, id]) => ({ a, b, id }))
      )
    assert.strictEqual(page([1, 1, 1], [2, 1, 2]), 0)
    assert.strictEqual(page([1, null, 1], [1, 1, 2]), 1)
    assert.strictEqual(page([1, null, 1], [1, null, 2]), 2)
    assert.strictEqual(page([1, 1, 1]), 2)
    const parts = partsBehind(by, { a: 1, b: null, id: 2 }, nullable, 2)
    assert.deepStrictEqual(
      parts.map((part) => part.map(parameterOf)),
      [
        [
          ["a", "eq.1"],
          ["b", "is.null"],
          ["id", "gt.2"]
        ],
        [["a", "gt.1"]],
        [["a", "is.null"]]
      ]
    )
  })
})

it("columns with the names of parameters are conditions of AND", () => {
  const condition = { tag: "compare", column: "order", operator: "gt", value: 5 } as const
  assert.deepStrictEqual(parameterOf(condition), ["and", '(order.gt."5")'])
  assert.deepStrictEqual(parameterOf({ ...condition, column: "a.b" }), ["and", '("a.b".gt."5")'])
})

it("values and names are quoted, so that none of them ends a condition", () => {
  const value = 'a",b)\\'
  const text = conditionText({ tag: "compare", column: 'odd "name', operator: "eq", value })
  assert.strictEqual(text, '"odd \\"name".eq."a\\",b)\\\\"')
  assert.isTrue(
    columns.every((column) => conditionText({ tag: "null", column, not: true }) === `${column}.not.is.null`)
  )
})
