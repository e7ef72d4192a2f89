import { assert, describe, it } from "@effect/vitest"
import { all, column, embed, parsed, refused, shown } from "../../../support/rows/queries.ts"

describe("select", () => {
  const select = (text: string): unknown => parsed(["select", text]).select

  it("parses columns", () => {
    assert.deepStrictEqual(select(""), [all])
    assert.deepStrictEqual(select(' * , a-b ,first name, é$1,"x,\\"y\\\\("'), [
      all,
      shown("a-b"),
      shown("first name"),
      shown("é$1"),
      shown('x,"y\\(')
    ])
    assert.deepStrictEqual(select("count,count:a,a:count,sum"), [
      shown("count"),
      shown("a", { alias: "count" }),
      shown("count", { alias: "a" }),
      shown("sum")
    ])
  })

  it("refuses casts to types of the catalogue's names", () => {
    for (const type of ["regclass", "RegRole", "_regprocedure", "regtype", "aclitem"]) {
      const { details } = refused(["select", `x:id::${type}`])
      assert.strictEqual(details, `a cast to ${type} would read names of the catalogue; use /v1/sql`)
    }
    for (const text of ["n.max()::regclass", "count()::regrole", "a(b::regclass)", "...a(b::regclass)"]) {
      assert.match(String(refused(["select", text]).details), /^a cast to/, text)
    }
    assert.deepStrictEqual(select("a::registration"), [shown("a", { cast: "registration" })])
  })

  it("parses aliases, paths, casts and aggregates", () => {
    assert.deepStrictEqual(select('"my x":a->b->>0::timestamp with time zone.max()::text,a::text,b.count()'), [
      shown("a", {
        field: column("a", { key: "b", index: false, text: false }, { key: "0", index: true, text: true }),
        alias: "my x",
        cast: "timestamp with time zone",
        aggregate: "max",
        aggregateCast: "text"
      }),
      shown("a", { cast: "text" }),
      shown("b", { aggregate: "count" })
    ])
    assert.deepStrictEqual(select("a->-2147483648"), [
      shown("a", { field: column("a", { key: "-2147483648", index: true, text: false }) })
    ])
    assert.deepStrictEqual(select("count(),n:count()::text"), [
      { _tag: "Count", alias: undefined, cast: undefined },
      { _tag: "Count", alias: "n", cast: "text" }
    ])
  })

  it("parses embeds", () => {
    assert.deepStrictEqual(select("id,r:roles!fk-1!inner(*,...actors!left!hint( name , films() ))"), [
      shown("id"),
      embed("roles", {
        alias: "r",
        hint: "fk-1",
        join: "inner",
        select: [
          all,
          embed("actors", { hint: "hint", join: "left", spread: true, select: [shown("name"), embed("films")] })
        ]
      })
    ])
    assert.deepStrictEqual(select('a!left_fk(b),"count"(x),a!"left"(b)'), [
      embed("a", { hint: "left_fk", select: [shown("b")] }),
      embed("count", { select: [shown("x")] }),
      embed("a", { hint: "left", select: [shown("b")] })
    ])
  })

  it("parses JSON paths", () => {
    const steps = (text: string) => {
      const [item] = parsed(["select", text]).select
      return item?._tag === "Field" ? item.field.json.map((step) => (step.index ? Number(step.key) : step.key)) : []
    }
    assert.deepStrictEqual(steps('a->b c->-2->>"d->,e"->"1"->x-y->5a->"-1"'), [
      "b c",
      -2,
      "d->,e",
      "1",
      "x-y",
      "5a",
      "-1"
    ])
    assert.deepStrictEqual(steps("a-b->2147483648->0->$.x".replace(".x", "")), ["2147483648", 0, "$"])
    for (const text of ["a->", "a->>", "a->-b", "a->(b)", "a->-->b", 'a->"b', "a->b)"]) refused(["select", text])
  })

  it.each([
    ["a,", "1, column 3", 'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"'],
    ["a b!", "1, column 5", "unexpected end of input expecting field name (* or [a..z0..9_$])"],
    [
      "a;b",
      "1, column 2",
      'unexpected ";" expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input'
    ],
    ["a(*\t;", "1, column 9", 'unexpected ";" expecting "," or ")"'],
    ["a(b", "1, column 4", 'unexpected end of input expecting "," or ")"'],
    [
      '"é\n",😀',
      "2, column 3",
      String.raw`unexpected "\128512" expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"`
    ],
    ['a,"b', "1, column 5", 'unexpected end of input expecting "\\""']
  ])("reports the error and its position: %j", (text, place, details) => {
    assert.deepInclude(refused(["select", text]), {
      status: 400,
      code: "PGRST100",
      error: `"failed to parse select parameter (${text})" (line ${place})`,
      details,
      hint: null
    })
  })

  it.each([
    "a)",
    "a(b))",
    "*::text",
    "x:*",
    "count(a)",
    "a::",
    "a::b::c",
    "a.foo()",
    "a!x!y!z(b)",
    "x:...a(b)",
    ",a",
    '""'
  ])("rejects %s", (text) => {
    refused(["select", text])
  })

  it("is limited in depth", () => {
    const nested = (depth: number) => "a(".repeat(depth) + ")".repeat(depth)
    assert.strictEqual(parsed(["select", nested(63)]).select.length, 1)
    assert.strictEqual(refused(["select", nested(64)]).details, "embeds can be nested at most 64 levels deep")
    refused(["select", "a(".repeat(100_000)])
  })

  it("shortens a long invalid text in the error", () => {
    assert.isBelow(refused(["select", `${"x".repeat(10_000)};`]).error.length, 300)
  })
})
