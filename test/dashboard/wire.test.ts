import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { parseSearch, stringifySearch } from "../../dashboard/src/shell/search.ts"
import { pathOf } from "../../dashboard/src/wire/path.ts"
import { parseExact, parseRows } from "../../dashboard/src/wire/exact.ts"

describe("parseExact", () => {
  it("keeps the text of numbers that JavaScript would change", () => {
    assert.deepStrictEqual(parseExact('[9007199254740993, 218.90, 1e400, 5, -0.5, {"a": 0.1}]'), [
      "9007199254740993",
      "218.90",
      "1e400",
      5,
      -0.5,
      { a: 0.1 }
    ])
  })

  it("is JSON.parse for what JSON.stringify has written", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        assert.strictEqual(JSON.stringify(parseExact(text)), JSON.stringify(JSON.parse(text)))
      })
    )
  })
})

it("rows keep the numbers within their JSON values as numbers, with every digit", () => {
  const text = '[{"id":9007199254740993,"price":218.90,"doc":{"price":218.90,"ids":[9007199254740993]}}]'
  const [row] = parseRows(text) as ReadonlyArray<{
    readonly id: unknown
    readonly price: unknown
    readonly doc: unknown
  }>
  assert.deepStrictEqual([row?.id, row?.price], ["9007199254740993", "218.90"])
  assert.strictEqual(JSON.stringify(row?.doc), '{"price":218.90,"ids":[9007199254740993]}')
})

describe("the query of an address", () => {
  const search = fc.dictionary(
    fc.string({ minLength: 1, unit: "grapheme" }).filter((name) => name !== "__proto__"),
    fc.oneof(fc.string({ unit: "grapheme" }), fc.array(fc.string(), { minLength: 2, maxLength: 4 }))
  )
  it("is the same after it was written and read", () => {
    fc.assert(
      fc.property(search, (given) => {
        assert.deepStrictEqual({ ...parseSearch(stringifySearch(given)) }, { ...given })
      })
    )
  })
  it("is written as people read it", () => {
    assert.strictEqual(
      stringifySearch({ status: "in.(a,b)", order: "total.desc" }),
      "?status=in.(a,b)&order=total.desc"
    )
  })
})

describe("pathOf", () => {
  it("fills in and encodes parameters", () => {
    assert.strictEqual(pathOf("/api/keys/:id", { params: { id: "a/b" } }), "/api/keys/a%2Fb")
    assert.strictEqual(pathOf("/api/x", { query: { a: 1, b: undefined, c: "d e" } }), "/api/x?a=1&c=d+e")
  })
  it("has no slash at the end of a group's root", () => {
    assert.strictEqual(pathOf("/api/keys/"), "/api/keys")
    assert.strictEqual(pathOf("/"), "/")
  })
})
