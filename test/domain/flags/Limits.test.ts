import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type FlagContext, type FlagResult } from "../../../src/domain/flags/Evaluation.ts"
import { CompiledFlag, FlagSet } from "../../../src/domain/flags/sets/Set.ts"
import { type FlagHashing, flagHashings } from "../../../src/domain/flags/logic/Scope.ts"

const variants = { on: 1, off: 2, true: 3, false: 4, "1": 5 }

const answer = (targeting: unknown, context: FlagContext = {}, hashing: FlagHashing = "v2"): FlagResult => {
  const flag = new CompiledFlag({ key: "f", state: "ENABLED", variants, defaultVariant: "off", targeting }, hashing)
  return new FlagSet("dev", 1, new Map([["f", flag]])).evaluate("f", context, 1_700_000_000_000)
}

const names =
  "== === != !== ! !! and or if in cat < <= > >= + - * / % min max missing missing_some map filter reduce all some " +
  "none merge substr starts_with ends_with sem_ver fractional var nonsense"

/** Any JSON, with many operators and variables. */
const rules = fc.letrec<{ rule: unknown }>((tie) => ({
  rule: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.jsonValue(),
    fc.constantFrom("on", "a", "", 0, 1, null, true, {}),
    fc.constantFrom("a", "b", "", "a.0", "targetingKey", "$flagd").map((path) => ({ var: path })),
    fc
      .tuple(fc.constantFrom(...names.split(" ")), fc.array(tie("rule"), { maxLength: 4 }))
      .map(([name, given]) => ({ [name]: given })),
    fc.tuple(fc.constantFrom(...names.split(" ")), tie("rule")).map(([name, given]) => ({ [name]: given })),
    fc.array(tie("rule"), { maxLength: 4 })
  )
})).rule

const contexts = fc.dictionary(
  fc.constantFrom("a", "b", "targetingKey", "__proto__", "$flagd"),
  fc.oneof(rules, fc.jsonValue())
)

describe("a rule on a context", () => {
  it("always has a result, for any JSON", () => {
    const outcomes = new Set<string>()
    fc.assert(
      fc.property(rules, contexts, fc.constantFrom(...flagHashings), (rule, context, hashing) => {
        const given = JSON.stringify(context)
        const result = answer(rule, context, hashing)
        if (result.reason === "ERROR") assert.include(["PARSE_ERROR", "GENERAL"], result.errorCode)
        else assert.strictEqual(result.value, variants[result.variant as keyof typeof variants])
        assert.deepStrictEqual(answer(rule, context, hashing), result)
        assert.strictEqual(JSON.stringify(context), given)
        outcomes.add(result.reason === "ERROR" ? result.errorCode : result.reason)
      }),
      { numRuns: 1500 }
    )
    assert.deepStrictEqual(Array.from(outcomes).sort(), [
      "DEFAULT",
      "GENERAL",
      "PARSE_ERROR",
      "STATIC",
      "TARGETING_MATCH"
    ])
  }, 30_000)

  const many = Array.from({ length: 100_000 }, (_, i) => i)
  const long = "x".repeat(400_000)
  const wide = Object.fromEntries(many.map((i) => [`k${i}`, 1]))
  const costly: Record<string, readonly [unknown, FlagContext]> = {
    "lists in lists": [{ map: [{ var: "many" }, { map: [{ var: "many" }, { "+": [1, 2] }] }] }, { many }],
    "rules built again for each item": [
      { some: [{ var: "many" }, { and: [{ "==": [{ var: ["n", 1] }, 2] }, { in: [{ var: "" }, { var: "many" }] }] }] },
      { many }
    ],
    "long texts in long texts": [
      { map: [many, { in: [{ var: "needle" }, { var: "long" }] }] },
      { long, needle: `${"x".repeat(50_000)}y${"x".repeat(50_000)}` }
    ],
    "equal long texts": [{ map: [{ var: "many" }, { "==": [long, `${long.slice(1)}y`] }] }, { many }],
    "a long number with underscores": [{ map: [many, { "+": [{ cat: ["1_".repeat(200_000), "1"] }] }] }, {}],
    "long versions": [
      { map: [many, { sem_ver: [`1.0.0-${"a.".repeat(200_000)}b`, "<", `1.0.0-${"a.".repeat(200_000)}c`] }] },
      {}
    ],
    "a text that doubles": [{ reduce: [many, { cat: [{ var: "accumulator" }, { var: "accumulator" }] }, "ab"] }, {}],
    "wide objects": [{ map: [many, { "!!": [wide] }] }, {}],
    "a rule in the context that evaluates itself": [
      { if: [true, { var: "again" }] },
      { again: { if: [true, { cat: [{ if: [true, { var: "again" }] }, { if: [true, { var: "again" }] }] }] } }
    ]
  }

  for (const [name, [rule, context]] of Object.entries(costly)) {
    it(`ends: ${name}`, () => {
      const before = performance.now()
      assert.include(answer(rule, context), { errorCode: "PARSE_ERROR" })
      assert.isBelow(performance.now() - before, 10_000)
    })
  }

  it("ends: the bucketing value is wide or deep", () => {
    const byValue = { fractional: [{ var: "value" }, ["on", 1]] }
    assert.include(answer(byValue, { value: wide }, "v3"), { errorCode: "PARSE_ERROR" })
    assert.include(answer(byValue, { value: { a: nested(5000, (inner) => [inner]) } }, "v3"), {
      errorCode: "PARSE_ERROR"
    })
  })

  const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
    let value: unknown = 1
    for (let i = 0; i < levels; i++) value = wrap(value)
    return value
  }
  const wraps: Record<string, (inner: unknown) => unknown> = {
    negation: (inner) => ({ "!": [inner] }),
    list: (inner) => [inner],
    if: (inner) => ({ if: [inner, true, false] }),
    map: (inner) => ({ map: [[1], inner] }),
    reduce: (inner) => ({ reduce: [[1], inner, 0] })
  }

  for (const [name, wrap] of Object.entries(wraps)) {
    it(`may be nested to any depth: ${name}`, () => {
      assert.notInclude(JSON.stringify(answer(nested(60, wrap))), "nested")
      assert.include(answer({ "!": [nested(100_000, (inner) => wrap({ "!": { merge: [inner, { var: "x" }] } }))] }), {
        errorDetails: "the rule is nested more than 500 levels deep"
      })
      const deep = { deep: nested(100_000, wrap) }
      assert.strictEqual(answer({ if: [{ var: "deep" }, "on"] }, deep).reason, "TARGETING_MATCH")
      assert.include(answer({ filter: [[1], { "==": [{ var: "deep" }, 1] }] }, deep), { reason: "ERROR" })
      assert.include(answer({ missing: [{ var: "deep" }] }, deep), { reason: "ERROR" })
      assert.include(answer({ var: "deep" }, deep), { errorCode: "GENERAL" })
    })
  }

  it("allows the work of real rules", () => {
    const emails = Array.from({ length: 20_000 }, (_, i) => `user${i}@example.com`)
    const isIn = { in: [{ var: "email" }, emails] }
    assert.include(answer({ if: [{ or: [isIn, isIn, isIn] }, "off", "on"] }, { email: "nobody" }), { variant: "on" })
    const orders = Array.from({ length: 5_000 }, (_, i) => ({ total: i, state: "paid" }))
    const isLarge = { and: [{ ">": [{ var: "total" }, 4_998] }, { "==": [{ var: "state" }, "paid"] }] }
    assert.include(answer({ if: [{ some: [{ var: "orders" }, isLarge] }, "on"] }, { orders }), { variant: "on" })
  })
})
