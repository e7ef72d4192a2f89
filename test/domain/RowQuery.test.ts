import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { parseRowQuery } from "../../src/domain/RowQuery.ts"
import { arrayLiteral, queryPairs, quotedList, quoteName, readName, splitList } from "../../src/domain/RowText.ts"

const parse = (query: string) => parseRowQuery(queryPairs(query) ?? [])
const parsed = (query: string) => Result.getOrThrow(parse(query))
const filters = (query: string) => parsed(query).filters
const refused = (query: string) => {
  const result = parse(query)
  return Result.isFailure(result) ? result.failure : undefined
}

describe("query strings", () => {
  it("nothing asked", () => {
    const nothing = {
      select: undefined,
      filters: [],
      order: [],
      limit: undefined,
      offset: undefined,
      columns: undefined
    }
    assert.deepStrictEqual(parsed(""), nothing)
    assert.deepStrictEqual(parsed("&&=eq.1"), nothing)
  })

  it("the first of a clause counts, every filter does", () => {
    const query = parsed("limit=1&limit=2&select=a&select=b&a=eq.1&a=eq.2")
    assert.deepInclude(query, { limit: "1", select: [{ _tag: "Column", name: "a" }] })
    assert.deepStrictEqual(
      query.filters.map((filter) => filter._tag === "Compare" && filter.value),
      ["1", "2"]
    )
  })

  it("select", () => {
    assert.deepStrictEqual(parsed("select=").select, [])
    assert.deepStrictEqual(parsed('select=*, a-b ,"x,\\"y\\\\(",é 1').select, [
      { _tag: "All" },
      { _tag: "Column", name: "a-b" },
      { _tag: "Column", name: 'x,"y\\(' },
      { _tag: "Column", name: "é 1" }
    ])
  })

  it("order", () => {
    assert.deepStrictEqual(parsed('order=a,b.desc,"c.d".asc.nullsfirst,e.nullslast').order, [
      { column: "a", direction: undefined, nulls: undefined },
      { column: "b", direction: "desc", nulls: undefined },
      { column: "c.d", direction: "asc", nulls: "nullsfirst" },
      { column: "e", direction: undefined, nulls: "nullslast" }
    ])
  })

  it("filters", () => {
    const a = { column: "a", negated: false }
    assert.deepStrictEqual(filters("a=not.eq.not.x.y"), [
      { column: "a", negated: true, _tag: "Compare", operator: "eq", value: "not.x.y" }
    ])
    assert.deepStrictEqual(filters("a=is.NULL"), [{ ...a, _tag: "Is", value: "null" }])
    assert.deepStrictEqual(filters('a=in.(1,"b,\\"c\\\\",)'), [{ ...a, _tag: "In", values: ["1", 'b,"c\\', ""] }])
    assert.deepStrictEqual(filters("a=in.()"), [{ ...a, _tag: "In", values: [] }])
    assert.deepStrictEqual(filters("a=eq."), [{ ...a, _tag: "Compare", operator: "eq", value: "" }])
    assert.deepStrictEqual(filters("a=eq.x+y%2Bz"), [{ ...a, _tag: "Compare", operator: "eq", value: "x y+z" }])
    assert.deepStrictEqual(filters("or=eq.1")[0]?.column, "or")
  })

  it.each([
    "or=(a.eq.1,b.eq.2)",
    "and=(a.eq.1)",
    "not.or=(a.eq.1)",
    "a.or=(b.eq.1)",
    "a->b=eq.1",
    "a=cs.{1}",
    "select=a:b",
    "select=a(b)"
  ])("what is not supported yet is said clearly: %s", (query) => {
    assert.strictEqual(refused(query)?.code, "PGRST100")
    assert.isAbove(refused(query)?.hint?.length ?? 0, 10)
  })

  it("a long mistake is not echoed whole", () => {
    assert.isBelow(refused(`a=${"x".repeat(10_000)}`)?.error.length ?? 0, 300)
  })

  it("broken percent-encoding is seen", () => {
    for (const query of ["%", "a=%zz", "%c3=1", "a=%ff"]) assert.isUndefined(queryPairs(query))
  })

  it("any text is read once, from left to right", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'"\\(),. ab-*'), maxLength: 30 }), (text) => {
        parseRowQuery([
          ["select", text],
          ["order", text],
          [text, `in.${text}`]
        ])
      })
    )
    const long = "(".repeat(100_000) + '"'.repeat(100_000)
    assert.isUndefined(splitList(long))
    assert.strictEqual(refused(`select=${long}`)?.code, "PGRST100")
  })
})

describe("texts", () => {
  const anything = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("\0"))
  const quoted = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`

  it("a quoted name is the name", () => {
    fc.assert(
      fc.property(anything, fc.constantFrom("", ".desc", "->x"), (name, rest) => {
        assert.deepStrictEqual(readName(quoted(name) + rest), { name, rest })
      })
    )
  })

  it("a quoted list is the list", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (values) => {
        assert.deepStrictEqual(quotedList(`(${values.map(quoted).join(",")})`), values)
      })
    )
  })

  it("names that are none", () => {
    for (const text of ["", " ", '""', '"', '"a', '"\0"', "-a", ".a", "(a", "a".slice(1)])
      assert.isUndefined(readName(text), text)
  })

  it("identifiers and array literals", () => {
    assert.strictEqual(quoteName('a"b'), '"a""b"')
    assert.strictEqual(arrayLiteral(['a"', "b\\", "", "NULL"]), '{"a\\"","b\\\\","","NULL"}')
  })
})
