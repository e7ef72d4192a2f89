import { assert, describe, it } from "@effect/vitest"
import { arrayLiteral, queryPairs, quoteName } from "../../../src/domain/sql/Names.ts"

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

  it("parts without a value are ignored", () => {
    assert.deepStrictEqual(queryPairs("a&select&b=1"), [["b", "1"]])
  })

  it("invalid percent-encoding is detected", () => {
    for (const query of ["%", "a=%zz", "%c3=1", "a=%ff"]) assert.isUndefined(queryPairs(query))
  })
})

it("identifiers and array literals", () => {
  assert.strictEqual(quoteName('a"b'), '"a""b"')
  assert.strictEqual(arrayLiteral(['a"', "b\\", "", "NULL"]), '{"a\\"","b\\\\","","NULL"}')
})
