import { assert, describe, it } from "@effect/vitest"
import { type FlagDefinition, type FlagContext, type FlagResult } from "../../../../src/domain/flags/Evaluation.ts"
import { CompiledFlag, FlagSet } from "../../../../src/domain/flags/sets/Set.ts"

const now = 1_760_000_000_999

const definition = (over: Partial<FlagDefinition> = {}): FlagDefinition => ({
  key: "new-checkout",
  state: "ENABLED",
  variants: { on: true, off: false },
  defaultVariant: "off",
  targeting: {},
  ...over
})

const setOf = (...definitions: ReadonlyArray<FlagDefinition>): FlagSet =>
  new FlagSet("staging", 42, new Map(definitions.map((one) => [one.key, new CompiledFlag(one, "v2")])))

const answer = (targeting: unknown, context: FlagContext = {}): FlagResult =>
  setOf(definition({ targeting })).evaluate("new-checkout", context, now)

const metadata = { flagSetId: "staging", version: "42" }

describe("FlagSet", () => {
  it("returns the default variant as STATIC without a rule, and no value when disabled", () => {
    const key = "new-checkout"
    const value = { variant: "off", value: false, metadata }
    assert.deepStrictEqual(answer({}), { key, reason: "STATIC", ...value })
    const disabled = setOf(definition({ state: "DISABLED", targeting: { broken: 1 } }))
    assert.deepStrictEqual(disabled.evaluate(key, {}, now), { key, reason: "DISABLED", metadata })
  })

  it("reports a missing flag", () => {
    const missing = setOf().evaluate("constructor", {}, now)
    assert.deepStrictEqual(missing, {
      key: "constructor",
      reason: "ERROR",
      errorCode: "FLAG_NOT_FOUND",
      errorDetails: 'there is no flag "constructor"',
      metadata
    })
  })

  it("reports why a rule could not be evaluated", () => {
    const why = (targeting: unknown, context: FlagContext = {}) => {
      const result = answer(targeting, context)
      return result.reason === "ERROR" ? `${result.errorCode}: ${result.errorDetails}` : result.reason
    }
    assert.strictEqual(why({ between: [1, 2] }), 'PARSE_ERROR: unknown operator "between"')
    assert.strictEqual(
      why({ if: [true, "red"] }),
      'GENERAL: the rule returned "red", which is not a variant of the flag'
    )
    assert.strictEqual(why({ "/": [1, 0] }), "PARSE_ERROR: the rule returned a number that is infinite or NaN")
    assert.strictEqual(why({ cat: [true] }), "PARSE_ERROR: expected a string, not a boolean")
    assert.strictEqual(why({ and: "x" }), "PARSE_ERROR: the arguments of and must be written as a list")
    assert.strictEqual(
      why({ in: [{ var: "email" }, "@example.com"] }),
      "PARSE_ERROR: in: only a string can be searched for in a string"
    )
  })

  it("records when each flag was last evaluated, for any result", () => {
    const set = setOf(definition(), definition({ key: "broken", targeting: { nope: 1 } }), definition({ key: "other" }))
    set.evaluate("new-checkout", {}, 5)
    set.evaluate("broken", {}, 6)
    assert.deepStrictEqual(
      Array.from(set.flags.values(), (flag) => flag.evaluatedAt),
      [5, 6, 0]
    )
    set.evaluateAll({}, 7)
    assert.deepStrictEqual(
      Array.from(set.flags.values(), (flag) => flag.evaluatedAt),
      [7, 7, 7]
    )
  })

  it("evaluates all flags in order, each with its own key", () => {
    const targeting = { if: [{ "==": [{ var: "$flagd.flagKey" }, "b"] }, "on", null] }
    const set = setOf(
      definition({ key: "b", targeting }),
      definition({ key: "a", targeting }),
      definition({ key: "z", state: "DISABLED" }),
      definition({
        key: "f",
        targeting: {
          fractional: [
            ["on", 1],
            ["off", 1]
          ]
        }
      })
    )
    const context = { targetingKey: "user-1", $flagd: { flagKey: "mine" } }
    const results = set.evaluateAll(context, now)
    assert.deepStrictEqual(
      results,
      ["b", "a", "z", "f"].map((key) => set.evaluate(key, context, now))
    )
    assert.deepStrictEqual(
      results.slice(0, 3).map(({ key, reason }) => [key, reason]),
      [
        ["b", "TARGETING_MATCH"],
        ["a", "DEFAULT"],
        ["z", "DISABLED"]
      ]
    )
  })

  it("overwrites $flagd without changing the context of the caller", () => {
    const context = Object.freeze({ $flagd: { flagKey: "mine", timestamp: 1 } })
    const isOurs = {
      and: [
        { "===": [{ var: "$flagd.flagKey" }, "new-checkout"] },
        { "===": [{ var: "$flagd.timestamp" }, 1_760_000_000] }
      ]
    }
    assert.strictEqual(answer({ if: [isOurs, "on", "off"] }, context).reason, "TARGETING_MATCH")
    assert.include(answer({ if: [isOurs, "on", "off"] }, context), { variant: "on" })
    assert.deepStrictEqual(context, { $flagd: { flagKey: "mine", timestamp: 1 } })
  })

  it("returns the metadata of the evaluated set", () => {
    const flag = new CompiledFlag(definition(), "v2")
    const older = new FlagSet("dev", 1, new Map([["f", flag]]))
    const newer = new FlagSet("dev", 2, new Map([["f", flag]]))
    const versions = [older, newer, older].map((set) => set.evaluate("f", {}, now).metadata.version)
    assert.deepStrictEqual(versions, ["1", "2", "1"])
  })

  it("serializes to a flag configuration of flagd", () => {
    const targeting = { if: [{ "==": [{ var: "plan" }, "pro"] }, "on", null] }
    const variants = JSON.parse('{"b":1,"a":2,"__proto__":3}') as Record<string, number>
    const set = setOf(
      definition({ targeting }),
      definition({ key: "__proto__", variants, defaultVariant: "b", state: "DISABLED" })
    )
    assert.strictEqual(
      set.configuration(true),
      '{"flags":{"new-checkout":{"state":"ENABLED","variants":{"on":true,"off":false},"defaultVariant":"off",' +
        '"targeting":{"if":[{"==":[{"var":"plan"},"pro"]},"on",null]}},' +
        '"__proto__":{"state":"DISABLED","variants":{"b":1,"a":2,"__proto__":3},"defaultVariant":"b","targeting":{}}},' +
        '"metadata":{"flagSetId":"staging","version":"42"}}'
    )
    assert.strictEqual(setOf().configuration(false), '{"flags":{},"metadata":{"flagSetId":"staging"}}')
  })

  it("reads only own properties", () => {
    for (const name of [
      "constructor",
      "__proto__",
      "toString",
      "hasOwnProperty",
      "a.constructor",
      "l.push",
      "s.length"
    ]) {
      const found = { if: [{ "==": [{ var: name }, null] }, "off", "on"] }
      assert.include(answer(found, { a: {}, l: [], s: "text" }), { variant: "off" }, name)
      assert.include(answer({ "!": { missing: [name] } }, { a: {}, l: [], s: "text" }), { reason: "ERROR" }, name)
    }
    const own = JSON.parse('{"__proto__":{"constructor":"on"}}') as FlagContext
    assert.include(answer({ var: "__proto__.constructor" }, own), { variant: "on" })
    for (const name of ["constructor", "__proto__", "toString"]) {
      assert.include(answer(name), { errorCode: "GENERAL" }, name)
      assert.include(answer({ if: [true, name] }), { errorCode: "GENERAL" }, name)
      assert.include(answer(Object.fromEntries([[name, []]])), { errorCode: "PARSE_ERROR" }, name)
    }
  })
})
