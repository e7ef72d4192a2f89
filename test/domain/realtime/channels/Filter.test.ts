import { assert, it } from "vitest"
import { isLike, parseFilter } from "../../../../src/domain/realtime/channels/Filter.ts"

it("reads conditions, with commas in quotes and parentheses", () => {
  assert.deepStrictEqual(parseFilter('a=eq.1,b=not.in.(x,"y,z"),c=eq."q, r"'), [
    { column: "a", negated: false, operator: "eq", values: ["1"] },
    { column: "b", negated: true, operator: "in", values: ["x", "y,z"] },
    { column: "c", negated: false, operator: "eq", values: ["q, r"] }
  ])
  for (const bad of ["a", "a=eq", "a=foo.1", "a=in.1", 'a=eq."x', "a=in.(1", ",", `a=in.(${"1,".repeat(101)}1)`]) {
    assert.isString(parseFilter(bad), bad)
  }
})

it("matches patterns as LIKE does, without backtracking", () => {
  const cases: Array<[string, string, boolean]> = [
    ["abc", "a%", true],
    ["abc", "%b%", true],
    ["abc", "a_c", true],
    ["abc", "a_", false],
    ["a%c", "a\\%c", true],
    ["abc", "a\\%c", false],
    ["", "%", true],
    ["", "", true],
    ["a", "", false],
    ["mississippi", "%iss%ip%", true],
    ["😀x", "_x", true]
  ]
  for (const [text, pattern, expected] of cases)
    assert.strictEqual(isLike(text, pattern), expected, `${text} ${pattern}`)
  // Backtracking would not end.
  const start = performance.now()
  assert.isFalse(isLike("a".repeat(4_096), "%a".repeat(49) + "b"))
  assert.isBelow(performance.now() - start, 5_000)
})
