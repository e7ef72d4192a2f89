import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseCall, queryPairs } from "../../../../src/domain/rows/parse/Parser.ts"
import { type RowQuery } from "../../../../src/domain/rows/parse/Query.ts"
import { type Pairs, column, compare, parsed, refused, shown } from "../../../support/rows/queries.ts"

const nothing: RowQuery = {
  select: [{ _tag: "All" }],
  filters: [],
  order: [],
  limit: [],
  offset: [],
  columns: undefined,
  onConflict: undefined,
  arguments: []
}

describe("query strings", () => {
  it("are pairs, in order", () => {
    assert.deepStrictEqual(queryPairs(""), [])
    assert.deepStrictEqual(queryPairs("a=1&&a=x+y%2Bz&=b&c=d=e&f=%C3%A9&%22g%22="), [
      ["a", "1"],
      ["a", "x y+z"],
      ["", "b"],
      ["c", "d=e"],
      ["f", "é"],
      ['"g"', ""]
    ])
  })

  it("ignore parts without a value", () => {
    assert.deepStrictEqual(queryPairs("a&select&b=1"), [["b", "1"]])
  })

  it("reject invalid percent-encoding", () => {
    for (const query of ["%", "a=%zz", "%c3=1", "a=%ff"]) assert.isUndefined(queryPairs(query))
  })
})

describe("clauses", () => {
  it("are empty for an empty query", () => {
    assert.deepStrictEqual(parsed(), nothing)
    assert.deepStrictEqual(parsed(["", "eq.1"]), nothing)
  })

  it("use the first select, columns, on_conflict and order of a path, but the last limit and offset", () => {
    const query = parsed(
      ...["a", "b"].flatMap((name): Pairs => [
        ["select", name],
        ["columns", name],
        ["on_conflict", name],
        ["order", name],
        ["r.order", name]
      ]),
      ...["1", "2"].flatMap((rows): Pairs => [
        ["limit", rows],
        ["offset", rows],
        ["r.s.limit", rows]
      ])
    )
    const a = [{ relation: undefined, field: column("a"), direction: undefined, nulls: undefined }]
    assert.deepStrictEqual<unknown>(query, {
      ...nothing,
      select: [shown("a")],
      columns: ["a"],
      onConflict: ["a"],
      order: [
        { path: [], value: a },
        { path: ["r"], value: a }
      ],
      limit: [
        { path: [], value: "2" },
        { path: ["r", "s"], value: "2" }
      ],
      offset: [{ path: [], value: "2" }]
    })
  })

  it("can be lists of names", () => {
    assert.deepStrictEqual(parsed(["columns", 'a,"b,c" , d e ,a']).columns, ["a", "b,c", "d e"])
    assert.deepStrictEqual(parsed(["on_conflict", '"a","b"']).onConflict, ["a", "b"])
    for (const text of ["", ",", "a,", "a;b", "a->b"]) refused(["columns", text])
  })

  it("require whole numbers for limit and offset", () => {
    assert.deepStrictEqual(parsed(["limit", "0"], ["offset", "-0"]).offset, [{ path: [], value: "0" }])
    assert.deepStrictEqual(parsed(["limit", "-1"]).limit, [{ path: [], value: "-1" }])
    for (const text of ["", "x", "1.5", "1e3", "٣", "1 ", "9".repeat(19)]) {
      assert.strictEqual(refused(["limit", text]).code, "PGRST100")
      assert.strictEqual(refused(["a.offset", text]).code, "PGRST100")
    }
    for (const key of ["offset", "a.offset"]) assert.strictEqual(parsed([key, "-4"]).offset[0]?.value, "0")
    assert.deepInclude(refused(["a.limit", "-1"]), { code: "2201W", error: "LIMIT must not be negative" })
  })

  it("belong to the table or to an embed, by their key", () => {
    const paths = (key: string, value: string) => {
      const { filters, limit, order } = parsed([key, value])
      return [...filters, ...limit, ...order].map((item) => item.path)
    }
    assert.deepStrictEqual(paths("roles.actors.order", "a"), [["roles", "actors"]])
    assert.deepStrictEqual(paths('"a.b".limit', "1"), [["a.b"]])
    assert.deepStrictEqual(paths("a.or", "(b.eq.1)"), [["a"]])
    assert.deepStrictEqual(paths("a.not.and", "(b.eq.1)"), [["a"]])
    assert.deepStrictEqual(paths("a.b-c.d", "eq.1"), [["a", "b-c"]])
    assert.deepStrictEqual(parsed(['"or"', "eq.1"], ['a."order"', "eq.1"], ["a->order", "eq.1"]).filters.length, 3)
    for (const key of ["a:b", "a->b.c", ".a", "a..b", "a.", "a(b)", "-a", "a->b.order", ".limit", '"a']) {
      assert.strictEqual(refused([key, key.endsWith("limit") ? "1" : "eq.1"]).code, "PGRST100", key)
    }
  })
})

describe("order", () => {
  it("parses terms", () => {
    const term = (more: object) => ({ relation: undefined, direction: undefined, nulls: undefined, ...more })
    assert.deepStrictEqual<unknown>(
      parsed(["order", 'a,b.desc , "c.d".asc.nullsfirst,e->>x.nullslast,r(f->0).desc.nullslast,asc']).order[0]?.value,
      [
        term({ field: column("a") }),
        term({ field: column("b"), direction: "desc" }),
        term({ field: column("c.d"), direction: "asc", nulls: "nullsfirst" }),
        term({ field: column("e", { key: "x", index: false, text: true }), nulls: "nullslast" }),
        term({
          relation: "r",
          field: column("f", { key: "0", index: true, text: false }),
          direction: "desc",
          nulls: "nullslast"
        }),
        term({ field: column("asc") })
      ]
    )
  })

  it.each([
    ["a.up", 3, 'unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast"'],
    ["a.desc.x", 8, 'unexpected "x" expecting "nullsfirst" or "nullslast"'],
    ["a.ascending", 6, 'unexpected "e" expecting delimiter (.), "," or end of input'],
    ["", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"]
  ])("reports the error and its position: %j", (text, place, details) => {
    assert.deepInclude(refused(["order", text]), {
      code: "PGRST100",
      error: `"failed to parse order (${text})" (line 1, column ${place})`,
      details
    })
  })

  it.each(["a,", "a.nullsfirst.desc", "r(a(b))", "r()", "r(a", "count()"])("rejects %s", (text) => {
    refused(["order", text])
  })
})

describe("calls by GET", () => {
  it("treat a value that is not a filter as an argument", () => {
    const query = Result.getOrThrow(
      parseCall([
        ["a", "1"],
        ["b", "eq.1"],
        ["a", "foo.bar"],
        ['"c d"', ""],
        ["e", "eq"],
        ["limit", "1"]
      ])
    )
    assert.deepStrictEqual(query.arguments, [
      ["a", "1"],
      ["a", "foo.bar"],
      ["c d", ""],
      ["e", "eq"]
    ])
    assert.deepStrictEqual<unknown>(query.filters, [{ path: [], value: compare("b", "eq", "1") }])
  })

  it.each([
    ["a", "in.1"],
    ["a", "is.x"],
    ["a", "not.x"],
    ["a.b", "1"],
    ["a->b", "1"],
    ["a(", "1"],
    ["or", "1"]
  ])("reject %s=%s", (key, value) => {
    assert.isTrue(Result.isFailure(parseCall([[key, value]])))
  })
})
