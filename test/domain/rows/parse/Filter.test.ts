import { assert, describe, it } from "@effect/vitest"
import { column, compare, parsed, refused } from "../../../support/rows/queries.ts"

describe("filters", () => {
  const filter = (value: string): unknown => parsed(["a", value]).filters[0]?.value

  it("parse operators", () => {
    assert.deepStrictEqual(filter("not.eq.not.x.y"), compare("a", "eq", "not.x.y", { negated: true }))
    assert.deepStrictEqual(filter('eq."x"'), compare("a", "eq", '"x"'))
    assert.deepStrictEqual(filter("eq."), compare("a", "eq", ""))
    assert.deepStrictEqual(filter("adj.[1,5)"), compare("a", "adj", "[1,5)"))
    assert.deepStrictEqual(filter("like(any).{A*,B*}"), compare("a", "like", "{A*,B*}", { quantifier: "any" }))
    assert.deepStrictEqual(
      filter("not.gte(all).{1,2}"),
      compare("a", "gte", "{1,2}", { quantifier: "all", negated: true })
    )
    assert.deepStrictEqual(filter("isdistinct.null"), compare("a", "isdistinct", "null"))
    assert.deepStrictEqual(filter("wfts(pg_x).a b"), {
      _tag: "FullText",
      negated: false,
      field: column("a"),
      operator: "wfts",
      language: "pg_x",
      value: "a b"
    })
    for (const [text, value] of [
      ["NULL", "null"],
      ["Not_Null", "not_null"],
      ["unknown ", "unknown"]
    ]) {
      assert.deepStrictEqual(filter(`is.${text}`), { _tag: "Is", negated: false, field: column("a"), value })
    }
  })

  it("parse lists", () => {
    const values = (text: string) => {
      const test = parsed(["a", `in.${text}`]).filters[0]?.value
      return test?._tag === "In" ? test.values : undefined
    }
    assert.deepStrictEqual(values('(1,"b,\\"c\\\\)",)'), ["1", 'b,"c\\)', ""])
    assert.deepStrictEqual(values("()"), [])
    assert.deepStrictEqual(values('("")'), [""])
    assert.deepStrictEqual(values('( a b ,"c"d, "e",{f,g} ) '), ["a b ", '"c"d', ' "e"', "{f", "g} "])
    assert.deepStrictEqual(values('("a,b)'), ['"a', "b"])
    for (const text of ["", "1,2", "(1,2", "(1)2)", "(1)x", '("a']) refused(["a", `in.${text}`])
  })

  it.each([
    ["1", 1, 'unexpected "1" expecting "not" or operator (eq, gt, ...)'],
    ["", 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)'],
    ["nope.1", 1, 'unexpected "p" expecting "not" or operator (eq, gt, ...)'],
    ["not.x.1", 5, 'unexpected "x" expecting operator (eq, gt, ...)'],
    ["eq", 3, "unexpected end of input expecting operator (eq, gt, ...)"],
    ["eqx.1", 3, 'unexpected "x" expecting operator (eq, gt, ...)'],
    ["in.1,2", 4, 'unexpected "1" expecting "("'],
    ["in.(1,2", 8, 'unexpected end of input expecting "," or ")"'],
    ["is.nil", 5, 'unexpected "i" expecting isVal: (null, not_null, true, false, unknown)']
  ])("report the error and its position: %j", (text, place, details) => {
    assert.deepInclude(refused(["a", text]), {
      code: "PGRST100",
      error: `"failed to parse filter (${text})" (line 1, column ${place})`,
      details,
      hint: null
    })
  })

  it.each([
    "not.not.eq.1",
    "neq(any).{1}",
    "in(any).(1)",
    "eq(some).1",
    "fts().a",
    "fts(a.b).c",
    "EQ.1",
    "is.nullx",
    "is.",
    "or.1"
  ])("reject %s", (text) => {
    refused(["a", text])
  })
})

describe("logic", () => {
  const logic = (key: string, text: string): unknown => parsed([key, text]).filters[0]?.value
  const or = (...conditions: ReadonlyArray<unknown>) => ({ _tag: "Or", negated: false, conditions })

  it("parses trees", () => {
    assert.deepStrictEqual(logic("or", "(a.eq.1,not.and( b.not.gt.2 , or(c.lt.3) ),d.is.null )"), {
      ...or(
        compare("a", "eq", "1"),
        {
          _tag: "And",
          negated: true,
          conditions: [compare("b", "gt", "2 ", { negated: true }), or(compare("c", "lt", "3"))]
        },
        { _tag: "Is", negated: false, field: column("d"), value: "null" }
      )
    })
    for (const key of ["not.and", "x.not.and", "not.x.and"]) {
      assert.deepStrictEqual(logic(key, "(a.eq.1)"), {
        _tag: "And",
        negated: true,
        conditions: [compare("a", "eq", "1")]
      })
    }
  })

  it("ends values at delimiters outside of quotes", () => {
    const values = (text: string) => {
      const tree = parsed(["or", `(${text})`]).filters[0]?.value
      return tree?._tag === "Or"
        ? tree.conditions.map((part) => (part._tag === "Compare" ? part.value : part._tag))
        : []
    }
    assert.deepStrictEqual(values('a.eq."x,(y)",b.eq."z\\"\\\\"'), ["x,(y)", 'z"\\'])
    assert.deepStrictEqual(values("a.cs.{x,y},b.eq.1"), ["{x,y}", "1"])
    assert.deepStrictEqual(values("a.like(any).{x*,y)}"), ["{x*,y)}"])
    assert.deepStrictEqual(values('a.cs.{"x,y",z},b.cs."{a}"'), ['{"x,y",z}', "{a}"])
    assert.deepStrictEqual(values("a.eq.{x,b.eq.{y,c.eq.z"), ["{x", "{y", "z"])
    assert.deepStrictEqual(values('a.ov."[1,5)",b.eq."x"y,c.eq.not.1'), ["[1,5)", '"x"y', "not.1"])
    assert.deepStrictEqual(values("a.in.(1,2),b.in.(),c.eq.,d.eq.x y "), ["In", "In", "", "x y "])
  })

  it("ends names at delimiters outside of quotes", () => {
    const fields = (text: string) => {
      const tree = parsed(["and", `(${text})`]).filters[0]?.value
      return tree?._tag === "And" ? tree.conditions.map((part) => ("field" in part ? part.field.name : part._tag)) : []
    }
    assert.deepStrictEqual(fields('"a.b".eq.1,not.eq.1,not.not.eq.1,and.eq.1,or->x.eq.1,order.eq.1, a b .eq.1'), [
      "a.b",
      "not",
      "not",
      "and",
      "or",
      "order",
      "a b"
    ])
  })

  it.each([
    ["(a.eq.1", 10, 'unexpected end of input expecting "," or ")"'],
    ["(tags @> '{}')", 9, 'unexpected "@" expecting letter, digit, "-", "->>", "->" or delimiter (.)'],
    ["(a.b.eq.1)", 6, 'unexpected "b" expecting "not" or operator (eq, gt, ...)'],
    ["a.eq.1", 3, 'unexpected "a" expecting "("'],
    ["(a.eq.1)x", 11, 'unexpected "x" expecting end of input']
  ])("reports the error and its position: %j", (text, place, details) => {
    assert.deepInclude(refused(["or", text]), {
      code: "PGRST100",
      error: `"failed to parse logic tree (${text})" (line 1, column ${place})`,
      details
    })
  })

  it.each(["()", "(,)", "(a.eq.1,)", "(and())", "(a)", "(a.in.(1)", "(a.is.nullx)", "eq.1"])("rejects %s", (text) => {
    refused(["or", text])
  })

  it("is limited in depth", () => {
    const nested = (depth: number) => `${"(and".repeat(depth - 1)}(a.eq.1)${")".repeat(depth - 1)}`
    assert.strictEqual(parsed(["or", nested(64)]).filters.length, 1)
    assert.strictEqual(refused(["or", nested(65)]).details, "conditions can be nested at most 64 levels deep")
    refused(["or", "(and".repeat(100_000)])
  })
})
