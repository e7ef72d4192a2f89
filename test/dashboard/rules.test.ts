import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import {
  comparisons,
  type Condition,
  conditionJson,
  type Outcome,
  readCondition,
  readRule,
  type Rule,
  ruleJson,
  type Test,
  versionOperators
} from "../../dashboard/src/flags/rules/rule.ts"
import { evenly, withoutVariant, withWeight } from "../../dashboard/src/flags/rules/weights.ts"

const text = fc.constantFrom("", "email", "a.b", "$flagd.timestamp", "größe", "var")
const scalar = fc
  .oneof(text, fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  // JSON has no negative zero.
  .map((value) => (Object.is(value, -0) ? 0 : value))
const not = fc.boolean()
const test: fc.Arbitrary<Test> = fc.oneof(
  fc.record({
    tag: fc.constant("compare" as const),
    attribute: text,
    operator: fc.constantFrom(...comparisons),
    value: scalar
  }),
  fc.record({ tag: fc.constant("contains" as const), attribute: text, not, text }),
  fc.record({ tag: fc.constant("oneOf" as const), attribute: text, not, values: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({
    tag: fc.constant("version" as const),
    attribute: text,
    operator: fc.constantFrom(...versionOperators),
    version: text
  }),
  fc.record({ tag: fc.constant("given" as const), attribute: text, not }),
  fc.record({ tag: fc.constant("segment" as const), key: text, not })
)
const conditionOf = (levels: number): fc.Arbitrary<Condition> =>
  levels === 0
    ? test
    : fc.oneof(
        { weight: 3, arbitrary: test },
        {
          weight: 1,
          arbitrary: fc.record({
            tag: fc.constantFrom("and" as const, "or" as const),
            all: fc.array(conditionOf(levels - 1), { minLength: 1, maxLength: 3 })
          })
        }
      )
const condition = conditionOf(3)
const split: fc.Arbitrary<Outcome> = fc.record({
  tag: fc.constant("split" as const),
  by: fc.option(text, { nil: undefined }),
  weights: fc.array(fc.tuple(fc.constantFrom("on", "off", "blue"), fc.integer({ min: 0, max: 100 })), {
    minLength: 1,
    maxLength: 4
  })
})
const none: Outcome = { tag: "default" }
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ tag: fc.constant("variant" as const), name: text }),
  fc.constant(none),
  split
)
const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({
    branches: fc.array(fc.record({ when: condition, result: outcome }), { minLength: 1, maxLength: 3 }),
    otherwise: outcome
  }),
  // Without a condition there is no variant but the default one.
  fc.oneof(split, fc.constant(none)).map((otherwise) => ({ branches: [], otherwise }))
)

/** Rules as people and other programs write them, most of which the builder can't show. */
const logic = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, "on", 1, true, "", [], {}),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .tuple(
        fc.constantFrom("if", "and", "or", "!", "!!", "==", "===", "in", "var", "$ref", "fractional", "sem_ver", "cat"),
        tie("value")
      )
      .map(([name, value]) => ({ [name]: value })),
    fc.dictionary(fc.constantFrom("if", "and", "var", "fractional"), tie("value"), { maxKeys: 2 }),
    rule.map(ruleJson),
    condition.map(conditionJson)
  )
})).value

const parsed = (json: unknown) => JSON.parse(JSON.stringify(json)) as unknown

describe("a rule", () => {
  it("is the same after it was JSON", () => {
    fc.assert(
      fc.property(rule, (given) => {
        assert.deepStrictEqual(readRule(parsed(ruleJson(given))), given)
      }),
      { numRuns: 2000 }
    )
  })

  it("is shown only if its JSON stays the same to the letter", () => {
    let shown = 0
    fc.assert(
      fc.property(logic, (json) => {
        const found = readRule(parsed(json))
        if (found === undefined) return
        shown++
        assert.strictEqual(JSON.stringify(ruleJson(found)), JSON.stringify(json))
      }),
      { numRuns: 5000 }
    )
    assert.isAbove(shown, 100)
  })

  it.each([
    ["another spelling", { if: [{ "!": [{ $ref: "a" }] }, "on"] }],
    ["a default of a variable", { if: [{ "==": [{ var: ["a", 1] }, 1] }, "on"] }],
    ["an explicit end", { if: [{ $ref: "a" }, "on", null] }],
    ["another operator", { if: [{ "===": [{ var: "a" }, 1] }, "on"] }],
    ["a rule in a rule", { if: [{ $ref: "a" }, { if: [{ $ref: "b" }, "on"] }, "off"] }],
    ["two operators in one object", { if: [], fractional: [] }],
    ["a key that is made", { fractional: [{ cat: ["a", { var: "b" }] }, ["on", 100]] }],
    ["a condition alone", { $ref: "a" }],
    ["a list", []]
  ])("with %s stays JSON", (_name, json) => {
    assert.isUndefined(readRule(json))
  })

  it("of a segment is a condition, or none", () => {
    fc.assert(
      fc.property(condition, (given) => {
        assert.deepStrictEqual(readCondition(parsed(conditionJson(given))), given)
      })
    )
    assert.strictEqual(readCondition({}), "none")
    assert.isUndefined(readCondition({ if: [] }))
  })
})

describe("weights", () => {
  const weights = fc.array(fc.tuple(fc.string(), fc.integer({ min: 0, max: 100 })), { minLength: 1, maxLength: 6 })
  const sum = (all: ReadonlyArray<readonly [string, number]>) => all.reduce((total, [, weight]) => total + weight, 0)

  it("sum to 100 whatever is moved, and the moved one is where it was put", () => {
    fc.assert(
      fc.property(weights, fc.nat(5), fc.double({ min: -10, max: 110, noNaN: true }), (given, index, weight) => {
        const at = index % given.length
        const moved = withWeight(given, at, weight)
        assert.strictEqual(sum(moved), 100)
        assert.isTrue(moved.every(([, one]) => Number.isInteger(one) && one >= 0))
        assert.deepStrictEqual(
          moved.map(([variant]) => variant),
          given.map(([variant]) => variant)
        )
        if (given.length > 1) assert.strictEqual(moved[at]?.[1], Math.max(0, Math.min(100, Math.round(weight))))
        if (given.length > 1) assert.strictEqual(sum(withoutVariant(given, at)), 100)
      })
    )
  })

  it("are even at first", () => {
    assert.deepStrictEqual(evenly(["a", "b", "c"]), [
      ["a", 34],
      ["b", 33],
      ["c", 33]
    ])
  })
})
