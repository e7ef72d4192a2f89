import { Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { noPreferences, type Preferences } from "../../../src/domain/rows/Preferences.ts"
import { type Operation, type RowWrite, RowWrites } from "../../../src/domain/rows/Writes.ts"
import { JsonOutline } from "../../../src/domain/text/JsonOutline.ts"
import { catalogueOf } from "../../support/rows/catalogue.ts"

const catalogue = catalogueOf({ t: ["a", "b"], u: ["a", "b"] })
const limits = { aggregates: false }

const bodyOf = (value: unknown, only?: ReadonlySet<string>) => {
  const outline = new JsonOutline(Buffer.from(JSON.stringify(value)), only)
  while (!outline.step(1024));
  return outline
}

interface Write {
  readonly operation: Operation["_tag"]
  readonly body: unknown
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly preferences?: Partial<Preferences>
  readonly table?: string
}

const writeOf = ({ body, operation, preferences, query, table = "t" }: Write): RowWrite => {
  const columns = query.find(([name]) => name === "columns")?.[1].split(",")
  return {
    schema: "s",
    table,
    query,
    preferences: { ...noPreferences, ...preferences },
    form: { media: "json", stripNulls: false, options: [], of: "json" },
    answer: true,
    operation:
      operation === "remove" ? { _tag: "remove" } : { _tag: operation, body: bodyOf(body, columns && new Set(columns)) }
  }
}

/** The statement of a write, or its error. Bytes as text: those of a part are not those of the whole. */
const prepared = (writes: RowWrites, write: Write) => {
  const result = writes.prepare(catalogue, writeOf(write))
  if (Result.isFailure(result)) return result.failure
  const { sql, ...others } = result.success
  const params = sql?.params.map((param) => (param instanceof Uint8Array ? Buffer.from(param).toString() : param))
  return { ...others, text: sql?.text, params, prepare: sql?.prepare, bounded: sql?.bounded === true }
}

/** Whether all are prepared as alone, also once their shapes are known. */
const assertAsAlone = (all: ReadonlyArray<Write>) => {
  const writes = new RowWrites(limits)
  for (const write of [...all, ...all, ...all]) {
    assert.deepStrictEqual(prepared(writes, write), prepared(new RowWrites(limits), write))
  }
}

const columns: Write["query"] = [["columns", "a,b"]]

describe("the statement of a write of a known shape", () => {
  it("is that of the write alone: names, order, arrays, columns, preferences and tables make a difference", () => {
    const insert = (body: unknown, more?: Partial<Write>): Write => ({ operation: "insert", body, query: [], ...more })
    assertAsAlone([
      insert({ a: 1 }),
      insert({ a: 2 }),
      insert({ b: 1 }),
      insert({ a: 1, b: 2 }),
      insert({ b: 2, a: 1 }),
      insert([{ a: 1 }]),
      insert([{ a: 1 }, { a: 2 }]),
      insert([{ a: 1 }, { b: 2 }]),
      insert([]),
      insert({}),
      insert([{}]),
      insert({ a: 1 }, { table: "u" }),
      insert({ "a,1:b": 1 }),
      insert({ c: 1 }),
      insert({ a: 1 }, { table: "missing" }),
      insert(7),
      insert({ a: 1 }, { preferences: { resolution: "merge-duplicates" }, query: [["on_conflict", "a"]] }),
      insert({ a: 1 }, { preferences: { resolution: "ignore-duplicates" }, query: [["on_conflict", "a"]] }),
      insert({ a: 1 }, { query: [["select", "b"]] }),
      insert({ a: 1 }, { query: columns }),
      insert([{ a: 1 }], { query: columns }),
      insert([{}], { query: columns, preferences: { missing: "null" } }),
      insert([], { query: columns, preferences: { missing: "null" } }),
      insert({ a: 1 }, { query: columns, preferences: { missing: "null" } })
    ])
  })

  it("has the literals and the body of the write itself", () => {
    const text = fc.stringMatching(/^[\w§ ,.(){}"\\*%-]{0,8}$/)
    const filter = fc
      .tuple(fc.constantFrom("a", "b"), fc.constantFrom("eq.", "not.like.", "in.(x,"), text)
      .map(
        ([name, operator, value]) =>
          [name, operator === "in.(x," ? `in.(x,"${value.replaceAll(/["\\]/g, "\\$&")}")` : operator + value] as const
      )
    const body = fc
      .constantFrom("object", "array")
      .chain((form) => fc.record({ a: text }).map((row) => (form === "array" ? [row, row] : row)))
    const write = fc.record({
      operation: fc.constantFrom<Write["operation"]>("update", "remove", "insert"),
      body,
      query: fc.array(filter, { minLength: 1, maxLength: 2 }),
      preferences: fc.record({
        handling: fc.constantFrom("strict" as const, undefined),
        maxAffected: fc.constantFrom(1, 2, undefined)
      })
    })
    const property = fc.property(write, write, (one, other) =>
      assertAsAlone([one, { ...one, body: other.body }, other])
    )
    fc.assert(property, { numRuns: 25 })
  })
})
