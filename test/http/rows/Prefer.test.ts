import { Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { noPreferences, type Preferences } from "../../../src/domain/rows/Preferences.ts"
import { type RowOperation, parsePreferences, preferenceApplied } from "../../../src/http/rows/Prefer.ts"

const parsed = (header: string): Preferences => Result.getOrThrow(parsePreferences(header))
const only = (header: string) =>
  Object.fromEntries(Object.entries(parsed(header)).filter(([, value]) => value !== undefined))
const refusal = (header: string) => {
  const result = parsePreferences(header)
  return Result.isFailure(result) ? [result.failure.status, result.failure.code, result.failure.details] : "accepted"
}

describe("Prefer", () => {
  it("returns a constant without the header", () => {
    assert.strictEqual(Result.getOrThrow(parsePreferences(undefined)), noPreferences)
  })

  it.each<[header: string, preferences: object]>([
    ["return=minimal", { return: "minimal" }],
    ["return=headers-only,count=exact", { return: "headers-only", count: "exact" }],
    [
      "count=planned,    tx=commit   ,return=representation , missing=default, handling=lenient, whatever",
      { count: "planned", tx: "commit", return: "representation", missing: "default", handling: "lenient" }
    ],
    ["resolution=merge-duplicates, missing=null", { resolution: "merge-duplicates", missing: "null" }],
    ["timezone=America/Los_Angeles, max-affected=10", { timezone: "America/Los_Angeles", maxAffected: 10 }],
    ["timezone=05:30", { timezone: "05:30" }],
    ["max-affected=many, max-affected=2", { maxAffected: 2 }],
    ["max-affected=-1", { maxAffected: -1 }],
    ["max-cell=400, max-cell=2", { maxCell: 400 }],
    ["max-cell=0, max-cell=-1, max-cell=1000000, max-cell=x", {}],
    // The first valid preference of each kind applies.
    ["return=minimal, return=representation", { return: "minimal" }],
    ["return=all, return=minimal", { return: "minimal" }],
    ["count=exact, tx=rollback, count=planned", { count: "exact", tx: "rollback" }],
    // RFC 7240 allows names in any case, quoted values, and parameters.
    ['Return="minimal"; foo=bar, respond-async', { return: "minimal" }],
    ["return = minimal", { return: "minimal" }],
    ["", {}],
    [", ,;=", {}],
    ["constructor=x, __proto__=x, toString", {}]
  ])("%s", (header, preferences) => {
    assert.deepStrictEqual(only(header), preferences)
  })

  it("with handling=strict rejects all unknown preferences, in any position", () => {
    assert.deepStrictEqual(refusal("anything, handling=strict, return=all, count=exact, max-affected=x"), [
      400,
      "PGRST122",
      "Invalid preferences: anything, return=all"
    ])
    assert.strictEqual(
      refusal("handling=strict, return=minimal, tx=commit, timezone=Mars/Base, max-affected=x,"),
      "accepted"
    )
    assert.strictEqual(refusal("anything, handling=lenient, handling=strict"), "accepted")
  })

  it("accepts any text unless it is strict", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        if (Result.isFailure(parsePreferences(text))) assert.match(text, /handling/i)
      })
    )
  })
})

describe("Preference-Applied", () => {
  const all =
    "max-affected=3, timezone=UTC, handling=strict, tx=rollback, count=exact, return=minimal, missing=null, resolution=merge-duplicates"

  it.each<[RowOperation, string]>([
    ["read", "count=exact, tx=rollback, handling=strict, timezone=UTC"],
    [
      "insert",
      "resolution=merge-duplicates, missing=null, return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC"
    ],
    ["upsert", "return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC"],
    ["update", "missing=null, return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=3"],
    ["remove", "return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=3"],
    ["call", "count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=3"]
  ])("of a %s lists the preferences that applied, in a fixed order", (operation, expected) => {
    assert.strictEqual(preferenceApplied(parsed(all), operation), expected)
  })

  it("is absent if no preference applied", () => {
    assert.isUndefined(preferenceApplied(noPreferences, "read"))
    assert.isUndefined(preferenceApplied(parsed("return=minimal, anything"), "read"))
    assert.isUndefined(preferenceApplied(parsed("max-affected=3"), "update"))
  })
})
