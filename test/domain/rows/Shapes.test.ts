import { Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { rowShape } from "../../../src/domain/rows/Shapes.ts"
import { RowReads } from "../../../src/domain/rows/Reads.ts"
import { catalogueOf } from "../../support/rows/catalogue.ts"

const catalogue = catalogueOf({ t: ["a", "b"] })
const limits = { aggregates: false, maxRows: 100 }

/** The statement for a query, prepared alone. */
const sqlOf = (reads: RowReads, query: ReadonlyArray<readonly [string, string]>) => {
  const read = { schema: "s", table: "t", query, range: undefined, count: undefined, trusted: true } as const
  const prepared = Result.getOrThrow(reads.prepare(catalogue, { ...read, form: { media: "json", stripNulls: false } }))
  return { text: prepared.sql.text, params: prepared.sql.params }
}

describe("the shape of a query", () => {
  it.each<[key: string, one: string, other: string]>([
    ["or", "(a.eq.1,b.eq.2)", '(a.eq."x,)",b.eq.{y,z})'],
    ["or", "(a.eq.1,not.and(b.in.(1,2),a.like.x*))", "(a.eq.,not.and(b.in.(),a.like.*y*))"],
    ["not.and", "(a.fts(english).cat,b.is.null)", "(a.fts(english).a b,b.is.null)"],
    ["and", "(a.not.eq(any).{1},a.isdistinct.2)", "(a.not.eq(any).{3,4},a.isdistinct.§svc0§)"],
    ["a", "in.(1,2)", 'in.("(",3)'],
    ["a", "not.ilike.x*", "not.ilike.**"]
  ])("is the same for literals of %s: %s, %s", (key, one, other) => {
    const shapes = [one, other].map((value) => rowShape([[key, value]]))
    assert.strictEqual(shapes[0]?.key, shapes[1]?.key)
    const reads = new RowReads(limits)
    // The third is answered from the cache, with its own literals.
    const texts = [one, one, other, one].map((value) => sqlOf(reads, [[key, value]]))
    const alone = [one, other].map((value) => sqlOf(new RowReads(limits), [[key, value]]))
    assert.deepStrictEqual(texts, [alone[0], alone[0], alone[1], alone[0]])
  })

  it.each<[one: string, other: string]>([
    ["(a.eq.1)", "(b.eq.1)"],
    ["(a.eq.1)", "(a.neq.1)"],
    ["(a.is.null)", "(a.is.true)"],
    ["(a.eq.1,b.eq.1)", "(a.eq.1)"],
    ["(a.eq.1,b.eq.1)", "(and(a.eq.1,b.eq.1))"]
  ])("differs for %s and %s", (one, other) => {
    assert.notStrictEqual(rowShape([["or", one]]).key, rowShape([["or", other]]).key)
  })

  it("has the same statement from the cache as without, whatever the literals", () => {
    const text = fc.stringMatching(/^[\w§ ,.(){}"\\*%-]{0,8}$/)
    const quoted = text.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`)
    const condition = fc.tuple(fc.constantFrom("a.eq", "b.like", "a.not.lt", "b.cs", "a.plfts"), quoted)
    const logic = fc.array(condition, { minLength: 1, maxLength: 4 })
    const write = (all: ReadonlyArray<readonly [string, string]>) => `(${all.map((one) => one.join(".")).join()})`
    fc.assert(
      fc.property(logic, logic, (one, other) => {
        const reads = new RowReads(limits)
        for (const all of [one, one, other, other, one]) {
          const query = [
            ["or", write(all)],
            ["a", "eq.7"],
            ["offset", "3"]
          ] as const
          assert.deepStrictEqual(sqlOf(reads, query), sqlOf(new RowReads(limits), query))
        }
      })
    )
  })
})
