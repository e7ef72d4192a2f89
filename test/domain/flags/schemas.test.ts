import { Exit, Schema } from "effect"
import { assert, describe, it } from "vitest"
import { FlagBulkRequest, FlagEvaluationRequest } from "../../../src/domain/flags/Evaluation.ts"
import { Flag, FlagChange, FlagPromotion, NewFlag } from "../../../src/domain/flags/Flag.ts"
import { FlagSegmentChange, NewFlagSegment, segmentKeyOf } from "../../../src/domain/flags/Segment.ts"
import { issueLines } from "../../../src/http/wire/RequestErrors.ts"

/** Decodes as for the body of a request. */
const decode = <A>(schema: Schema.Codec<A, unknown>, body: unknown): A =>
  Schema.decodeUnknownSync(Schema.toCodecJson(schema))(body)

const lines = (schema: Schema.Codec<unknown, unknown>, body: unknown): ReadonlyArray<string> => {
  const exit = Schema.decodeUnknownExit(Schema.toCodecJson(schema))(body, { errors: "all" })
  if (Exit.isSuccess(exit)) return []
  const [reason] = exit.cause.reasons
  if (reason?._tag !== "Fail") throw new Error("a defect, not an issue")
  return issueLines(reason.error.issue)
}

const body = { key: "new-checkout", type: "boolean", variants: { on: true, off: false }, defaultVariant: "off" }

describe("a new flag", () => {
  it("keeps every property of variants and rule unchanged", () => {
    const text =
      '{"key":"f","type":"object","variants":{"__proto__":{"a":1},"a b":{"__proto__":2},"x":{}},' +
      '"defaultVariant":"x","targeting":{"__proto__":[1]},"nobody knows":1}'
    const flag = decode(NewFlag, JSON.parse(text))
    assert.deepStrictEqual(Object.keys(flag), ["key", "type", "variants", "targeting", "defaultVariant"])
    assert.strictEqual(JSON.stringify(flag.variants), '{"__proto__":{"a":1},"a b":{"__proto__":2},"x":{}}')
    assert.strictEqual(JSON.stringify(flag.targeting), '{"__proto__":[1]}')
  })

  it.each(["a", "A.b_c:d-9", "0", "x".repeat(128), "constructor"])("has a key like %s", (key) =>
    assert.deepStrictEqual(lines(NewFlag, { ...body, key }), [])
  )

  it.each(["", "a b", "a/b", "ä", "-a", ".a", "_a", "a\n", "x".repeat(129), "__proto__"])("has no key like %j", (key) =>
    assert.deepStrictEqual(lines(NewFlag, { ...body, key }), [
      "key: Expected 1–128 letters, digits, `.`, `_`, `:` and `-`, the first a letter or a digit"
    ])
  )

  it.each(["segments", "evaluate", "status"])("rejects the path %s", (key) => {
    assert.match(lines(NewFlag, { ...body, key })[0] ?? "", /^key: Expected another key: .* are reserved$/)
    assert.deepStrictEqual(lines(NewFlagSegment, { key, rules: {} }), [])
  })

  it("reports all missing and invalid fields", () => {
    assert.deepStrictEqual(lines(NewFlag, {}), [
      "key: Missing key",
      "type: Missing key",
      "variants: Missing key",
      "defaultVariant: Missing key"
    ])
    const other = { ...body, type: "json", variants: [], targeting: null, state: "enabled", environment: "prod" }
    assert.deepStrictEqual(lines(NewFlag, other), [
      'type: Expected "boolean" | "string" | "number" | "object"',
      "variants: Expected object",
      'state: Expected "ENABLED" | "DISABLED"',
      "targeting: Expected object",
      'environment: Expected "dev" | "staging" | "production"'
    ])
    assert.lengthOf(lines(NewFlag, { ...body, description: "a\0" }), 1)
    assert.deepStrictEqual(lines(NewFlag, { ...body, description: null }), [])
  })

  it("may be of any depth and hold any number: its rule is checked elsewhere", () => {
    const targeting: unknown = JSON.parse(`${'{"!":'.repeat(100_000)}1e999${"}".repeat(100_000)}`)
    assert.deepStrictEqual(lines(NewFlag, { ...body, targeting, variants: targeting }), [])
  })
})

it("changes of a flag may repeat the whole record", () => {
  const configuration = { state: "ENABLED", targeting: {}, defaultVariant: "off", last_evaluated_at: null }
  const environments = { dev: configuration, staging: configuration, production: configuration }
  const times = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" }
  const shown = {
    ...body,
    ...configuration,
    description: null,
    environment: "dev",
    environments,
    revision: 1,
    ...times
  }
  assert.deepStrictEqual(lines(Flag, shown), [])
  assert.deepStrictEqual(lines(FlagChange, shown), [])
  assert.deepStrictEqual(decode(FlagChange, {}), {})
})

it("a promotion requires two different environments", () => {
  assert.deepStrictEqual(lines(FlagPromotion, { from: "dev", to: "production" }), [])
  assert.deepStrictEqual(lines(FlagPromotion, { from: "dev", to: "dev" }), [
    "to: Expected an environment other than `from`"
  ])
  assert.deepStrictEqual(lines(FlagPromotion, { from: "test" }), [
    'from: Expected "dev" | "staging" | "production"',
    "to: Missing key"
  ])
})

describe("a new segment", () => {
  it("has its key in either field", () => {
    for (const keys of [{ key: "beta" }, { segmentKey: "beta" }, { key: "beta", segmentKey: "beta" }]) {
      assert.strictEqual(segmentKeyOf(decode(NewFlagSegment, { ...keys, rules: {} })), "beta")
    }
    assert.deepStrictEqual(lines(NewFlagSegment, { rules: {} }), ["key: Missing key"])
    assert.deepStrictEqual(lines(NewFlagSegment, { key: "a", segmentKey: "b", rules: {} }), [
      "segmentKey: Expected the same value as `key`"
    ])
    assert.lengthOf(lines(NewFlagSegment, { segmentKey: "a b", rules: {} }), 1)
  })

  it("has rules", () => {
    assert.deepStrictEqual(lines(NewFlagSegment, { key: "a" }), ["rules: Missing key"])
    assert.deepStrictEqual(lines(NewFlagSegment, { key: "a", rules: [] }), ["rules: Expected object"])
    assert.deepStrictEqual(decode(FlagSegmentChange, { name: "Beta", revision: 7 }), { name: "Beta" })
  })
})

describe("a context", () => {
  const contextLines = (context: unknown) => lines(FlagEvaluationRequest, { flagKey: "any key", context })

  it("is an object of at most 64 levels", () => {
    const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels - 1)}`)
    assert.deepStrictEqual(contextLines({ targetingKey: "u", $flagd: 1, huge: 2 ** 60 }), [])
    assert.deepStrictEqual(contextLines(deep(64)), [])
    for (const levels of [65, 500_000]) {
      assert.deepStrictEqual(contextLines(deep(levels)), ["context: Expected at most 64 levels of nesting"])
    }
    for (const context of [[], null, "a", 1])
      assert.deepStrictEqual(contextLines(context), ["context: Expected object"])
  })

  it("holds any JSON", () => {
    assert.deepStrictEqual(contextLines(JSON.parse('{"a":[1e999]}')), ["context.a.0: Expected a smaller number"])
    const { context } = decode(FlagEvaluationRequest, JSON.parse('{"flagKey":"f","context":{"__proto__":{"a":1}}}'))
    assert.strictEqual(JSON.stringify(context), '{"__proto__":{"a":1}}')
  })

  it("may be missing", () => assert.deepStrictEqual(lines(FlagEvaluationRequest, { flagKey: "" }), []))
})

it("one request evaluates 1–1,000 flags", () => {
  const many = (count: number) => lines(FlagBulkRequest, { flagKeys: Array.from({ length: count }, () => "f") })
  assert.lengthOf(lines(FlagBulkRequest, {}), 1)
  assert.lengthOf(many(0), 1)
  assert.lengthOf(many(1000), 0)
  assert.lengthOf(many(1001), 1)
})
