import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { problemLines } from "../../../../src/domain/flags/Problem.ts"
import { flagProblems } from "../../../../src/domain/flags/Problems.ts"
import { ruleProblems } from "../../../../src/domain/flags/rules/Rule.ts"
import { ruleOperators } from "../../../../src/domain/flags/rules/Operators.ts"
import { inlineSegments, segmentsInlined } from "../../../../src/domain/flags/SegmentsInlined.ts"
import { CompiledFlag, FlagSet } from "../../../../src/domain/flags/sets/Set.ts"
import { type JsonObject } from "../../../../src/domain/text/JsonObject.ts"
import { type FlagHashing, flagHashings } from "../../../../src/domain/flags/logic/Scope.ts"

const segments: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["beta", { ends_with: [{ var: "email" }, "@example.com"] }],
  ["both", { and: [{ $ref: "beta" }, { in: [{ var: "plan" }, ["pro", "team", 3]] }] }],
  ["lone", { var: "plan" }],
  ["choice", { if: [{ $ref: "both" }, "on", "off"] }],
  ["nobody", {}]
])
const variants = { on: "1", off: "0", "third.one": "3" }
const names = Object.keys(variants)

const evaluated = (targeting: JsonObject, context: JsonObject, hashing: FlagHashing) => {
  const definition = {
    key: "f",
    state: "ENABLED" as const,
    variants,
    defaultVariant: "off",
    targeting: inlineSegments(targeting, segments)
  }
  const set = new FlagSet("dev", 1, new Map([["f", new CompiledFlag(definition, hashing)]]))
  return set.evaluate("f", context, 1_700_000_000_000)
}

const problemsOf = (targeting: JsonObject) => {
  const each = { state: "ENABLED" as const, targeting, defaultVariant: "off" }
  const environments = { dev: each, staging: each, production: each }
  return problemLines(flagProblems({ type: "string", variants, environments }, segments))
}

const assertAnswers = (targeting: JsonObject, context: JsonObject, hashing: FlagHashing) => {
  const result = evaluated(targeting, context, hashing)
  const message = `${JSON.stringify(targeting)} on ${JSON.stringify(context)}: ${JSON.stringify(result)}`
  assert.include(["TARGETING_MATCH", "DEFAULT"], result.reason, message)
  assert.include(names, "variant" in result ? result.variant : undefined, message)
}

const attributes = [
  "email",
  "plan",
  "age",
  "targetingKey",
  "beta",
  "list",
  "a.b",
  "list.0",
  "$flagd.flagKey",
  "toString"
]
const attribute = fc.oneof(
  fc.constantFrom(...attributes).map((path) => ({ var: path })),
  fc.constantFrom(...attributes).map((path) => ({ var: [path] }))
)
const single = fc.oneof(
  fc.constantFrom<unknown>("pro", "u@example.com", "1.2.3", "", true, false, null),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
  fc.string({ maxLength: 5 }).filter((text) => text.isWellFormed() && !text.includes("\0"))
)
const anyContext: fc.Arbitrary<JsonObject> = fc.record(
  {
    email: fc.oneof(fc.constant("u@example.com"), fc.jsonValue()),
    plan: fc.oneof(fc.constantFrom("pro", "on"), fc.jsonValue()),
    age: fc.oneof(fc.integer(), fc.jsonValue()),
    // flagd treats a list in place of a bucketing key as a bucket.
    targetingKey: fc.oneof(fc.string(), fc.integer()),
    beta: fc.jsonValue(),
    list: fc.array(single, { maxLength: 4 }),
    a: fc.jsonValue()
  },
  { requiredKeys: [] }
)
const hashing = fc.constantFrom(...flagHashings)

describe("a rule that is valid by construction", () => {
  const weights = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 4 }).map((given) => {
    const cuts = given.concat(100).sort((a, b) => a - b)
    return cuts.map((cut, i) => cut - (cuts[i - 1] ?? 0))
  })
  const text = single.filter((value) => typeof value === "string")
  const { outcome } = fc.letrec<{ readonly condition: unknown; readonly outcome: unknown }>((tie) => {
    const conditions = fc.array(tie("condition"), { minLength: 1, maxLength: 3 })
    return {
      condition: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom({ $ref: "beta" }, { $ref: "both" }, { $ref: "lone" }, { $ref: "nobody" }),
        fc
          .tuple(fc.constantFrom("==", "!=", "===", "!==", "<", "<=", ">", ">="), attribute, single)
          .map(([operator, left, right]) => ({ [operator]: [left, right] })),
        fc.array(text, { maxLength: 3 }).chain((list) => attribute.map((needle) => ({ in: [needle, [...list, 5]] }))),
        fc.tuple(fc.constantFrom("starts_with", "ends_with"), attribute, text).map(([operator, value, end]) => ({
          [operator]: [value, end]
        })),
        fc
          .tuple(attribute, fc.constantFrom("=", "!=", "<", "^", "~"), fc.constantFrom("v1", "1.2", "1.2.3-rc.1"))
          .map((given) => ({ sem_ver: given })),
        fc
          .constantFrom("some", "all", "none")
          .chain((operator) =>
            single.map((value) => ({ [operator]: [{ var: "list" }, { "==": [{ var: "" }, value] }] }))
          ),
        fc.constantFrom(
          { "!!": { missing: ["email", "plan"] } },
          {
            fractional: [
              [true, 50],
              [false, 50]
            ]
          }
        ),
        conditions.map((given) => ({ and: given })),
        conditions.map((given) => ({ or: given })),
        tie("condition").map((given) => ({ "!": [given] }))
      ),
      outcome: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom<unknown>(...names, null),
        fc.constantFrom({ $ref: "choice" }),
        fc
          .tuple(weights, tie("outcome"), tie("outcome"), fc.integer({ min: 0, max: 3 }))
          .map(([parts, first, second, key]) => {
            const buckets = parts.map((weight, i) => [i % 2 === 0 ? first : second, weight])
            const own = { cat: [{ var: "$flagd.flagKey" }, "/", { var: "targetingKey" }] }
            return { fractional: key < 2 ? buckets : [key === 2 ? own : { var: "targetingKey" }, ...buckets] }
          }),
        fc
          .tuple(fc.array(fc.tuple(tie("condition"), tie("outcome")), { minLength: 1, maxLength: 3 }), fc.boolean())
          .chain(([pairs, ends]) => tie("outcome").map((last) => ({ if: [...pairs.flat(), ...(ends ? [last] : [])] }))),
        tie("outcome").map((given) => ({ or: [null, given] }))
      )
    }
  })

  it("is accepted, and returns a variant for every context", () => {
    fc.assert(
      fc.property(outcome.filter(isRule), anyContext, hashing, (rule, context, hashing) => {
        assert.deepStrictEqual(problemsOf(rule), [])
        assertAnswers(rule, context, hashing)
      }),
      { numRuns: 3000 }
    )
  })
})

function isRule(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

describe("any rule", () => {
  const operators = [...ruleOperators.keys(), "fractional", "$ref", "nope", "__proto__"]
  const { value } = fc.letrec<{ readonly value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom<unknown>(...names, "beta", "1.0.0", "=", "email", 100, 0, true, false, null, {}),
      fc.jsonValue({ maxDepth: 2 }),
      fc.array(tie("value"), { maxLength: 4 }),
      fc
        .tuple(fc.constantFrom(...operators), fc.array(tie("value"), { maxLength: 4 }))
        .map(([operator, given]) => Object.fromEntries([[operator, given]])),
      fc.tuple(fc.constantFrom(...operators), tie("value")).map(([name, given]) => Object.fromEntries([[name, given]]))
    )
  }))

  it("is checked without throwing, and evaluated if it is valid", () => {
    let good = 0
    fc.assert(
      fc.property(value, anyContext, (rule, context) => {
        const problems = ruleProblems(rule, segmentsInlined(segments), { variants: new Set(names) })
        for (const { path, problem } of problems) {
          assert.isNotEmpty(problem)
          assert.isTrue(leadsSomewhere(rule, path), `${path.join(".")} in ${JSON.stringify(rule)}`)
        }
        assert.strictEqual(problems.length === 0, isRule(rule) && problemsOf(rule).length === 0)
        if (problems.length === 0 && isRule(rule)) {
          good += 1
          evaluated(rule, context, "v2")
        }
      }),
      { numRuns: 5000 }
    )
    assert.isAbove(good, 20)
  })

  /** Whether the path leads to a value. */
  const leadsSomewhere = (rule: unknown, path: ReadonlyArray<string | number>) => {
    let at = rule
    for (const part of path) {
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return false
      at = (at as Record<string | number, unknown>)[part]
    }
    return true
  }
})

describe("a rule that passes the checks", () => {
  // Every attribute is the name of a variant or missing, so that the result of `var` is an outcome too.
  const named = fc.record(
    Object.fromEntries(
      ["a", "b", "c", "targetingKey", "plan", "email"].map((name) => [name, fc.constantFrom(...names)])
    ),
    { requiredKeys: [] }
  )
  const { value } = fc.letrec<{ readonly value: unknown }>((tie) => {
    const many = fc.array(tie("value"), { minLength: 1, maxLength: 4 })
    const two = fc.tuple(tie("value"), tie("value"))
    return {
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom<unknown>(...names, ...names, ...names, "purple", true, false, 0, 1, "", null),
        fc.constantFrom<unknown>(
          { var: "a" },
          { var: ["b", "on"] },
          { var: ["c", "purple"] },
          { var: "" },
          { var: [] }
        ),
        fc.constantFrom(...segments.keys()).map((key) => ({ $ref: key })),
        many.map((given) => ({ if: given })),
        many.map((given) => ({ and: given })),
        many.map((given) => ({ or: given })),
        two.map((given) => ({ "==": given })),
        two.map((given) => ({ "<": given })),
        two.map((given) => ({ starts_with: given })),
        two.map(([one, other]) => ({ sem_ver: [one, "=", other] })),
        two.map(([one, other]) => ({
          fractional: [
            [one, 40],
            [other, 60]
          ]
        })),
        many.map((given) => ({ in: [{ var: "a" }, given] })),
        tie("value").map((given) => ({ "!": given })),
        fc.constantFrom({ missing: ["a"] }, { merge: [["on"]] })
      )
    }
  })

  it("returns a variant, for any source of its outcomes", () => {
    let [good, refused] = [0, 0]
    fc.assert(
      fc.property(value.filter(isRule), named, hashing, (rule, context, hashing) => {
        if (problemsOf(rule).length > 0) {
          refused += 1
          return
        }
        good += 1
        assertAnswers(rule, context, hashing)
      }),
      { numRuns: 10_000 }
    )
    assert.isAbove(good, 500)
    assert.isAbove(refused, 500)
  })
})
