import { assert, describe, inject, it } from "vitest"
import { assertRefused } from "../../support/client.ts"
import { flags, makeFlag, makeSegment } from "../../support/flags/api.ts"

const service = inject("service")
const flag = (given: object) => ({
  key: "bad",
  type: "boolean",
  variants: { on: true, off: false },
  defaultVariant: "off",
  ...given
})
const weights = (...pairs: ReadonlyArray<unknown>) => ({ fractional: [{ var: "targetingKey" }, ...pairs] })
const nested = (depth: number) => `${'{"!":['.repeat(depth)}true${"]}".repeat(depth)}`

/** A reason, and the start of the line that must state it. */
const bad: ReadonlyArray<readonly [why: string, given: object, line: string]> = [
  ["an unknown operator", { targeting: { if: [{ matches: [{ var: "a" }, "x"] }, "on"] } }, "targeting.if.0.matches"],
  ["two operators in one object", { targeting: { and: [true], or: [true] } }, "targeting"],
  ["a rule that is an array", { targeting: [] }, "targeting"],
  ["a rule that is text", { targeting: "on" }, "targeting"],
  ["an outcome that is not a variant", { targeting: { if: [true, "yes", "off"] } }, "targeting"],
  ["weights of 99", { targeting: weights(["on", 49], ["off", 50]) }, "targeting.fractional"],
  ["weights of 101", { targeting: weights(["on", 51], ["off", 50]) }, "targeting.fractional"],
  ["a negative weight", { targeting: weights(["on", -10], ["off", 110]) }, "targeting.fractional"],
  ["a weight with a fraction", { targeting: weights(["on", 49.5], ["off", 50.5]) }, "targeting.fractional"],
  ["a weight that is text", { targeting: weights(["on", "50"], ["off", 50]) }, "targeting.fractional"],
  ["a weight of an unknown variant", { targeting: weights(["on", 50], ["none", 50]) }, "targeting.fractional"],
  ["too few arguments", { targeting: { if: [{ sem_ver: [{ var: "v" }] }, "on"] } }, "targeting.if.0.sem_ver"],
  ["variants of several types", { variants: { on: true, off: "false" } }, "variants"],
  ["variants of another type than the flag's", { type: "string" }, "variants"],
  ["no variants", { variants: {} }, "variants"],
  [
    "101 variants",
    { variants: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`v${n}`, true])) },
    "variants"
  ],
  ["an odd variant name", { variants: { "a b": true, off: false } }, "variants"],
  ["a variant with NUL in it", { type: "string", variants: { off: "\0" } }, "variants"],
  ["a number beyond 2^53", { type: "number", variants: { off: 2 ** 53 } }, "variants"],
  ["an unknown default variant", { defaultVariant: "none" }, "defaultVariant"],
  ["an invalid state", { state: "ON" }, "state"],
  ["an invalid type", { type: "json" }, "type"],
  ["a description that is a number", { description: 1 }, "description"]
]

describe("a flag is rejected for", () => {
  it.each(bad)("%s", async (_why, given, line) => {
    const body = assertRefused(await flags(service, "POST ", flag(given)), 400)
    const lines = body["details"] as ReadonlyArray<string>
    assert.isTrue(
      lines.some((one) => one.startsWith(line)),
      lines.join("\n")
    )
    assertRefused(await flags(service, "GET /bad"), 404)
  })

  it("missing fields, reported together", async () => {
    const body = assertRefused(await flags(service, "POST ", {}), 400)
    const text = (body["details"] as ReadonlyArray<string>).join("\n")
    for (const name of ["key", "type", "variants", "defaultVariant"]) assert.include(text, name)
  })

  it("a rule of 1 MB, of depth 10,000, of too many values, without delay", async () => {
    const began = Date.now()
    const text = (targeting: string) =>
      JSON.stringify(flag({ targeting: 0 })).replace(/"targeting":0/, `"targeting":${targeting}`)
    assertRefused(await flags(service, "POST ", text(nested(65))), 400)
    assertRefused(await flags(service, "POST ", text(nested(10_000))), 400)
    assertRefused(await flags(service, "POST ", text(nested(100_000))), 400)
    assertRefused(await flags(service, "POST ", text(`{"or":[${Array(60_000).fill('{"var":"a"}').join(",")}]}`)), 400)
    const large = text(JSON.stringify({ in: [{ var: "a" }, "x".repeat(1_000_000)] }))
    assertRefused(await flags(service, "POST ", large), 400)
    assertRefused(await flags(service, "POST ", text(JSON.stringify("x".repeat(1024 * 1024)))), 413)
    assert.isBelow(Date.now() - began, 10_000)
  })

  it("names with a special meaning in JavaScript", async () => {
    const named = (text: string) =>
      flags(service, "POST ", JSON.stringify(flag({})).replace('{"on":true,"off":false}', text))
    assertRefused(await named('{"__proto__":true,"off":false}'), 400)
    const rule = '{"if":[{"==":[{"var":"a"},{"__proto__":1}]},"on","off"]}'
    assertRefused(
      await flags(
        service,
        "POST ",
        JSON.stringify(flag({ targeting: 0 })).replace('"targeting":0', `"targeting":${rule}`)
      ),
      400
    )
    const { variants } = await makeFlag(service, "bad.names", {
      variants: { constructor: true, toString: false },
      defaultVariant: "constructor"
    })
    assert.deepStrictEqual(Object.keys(variants), ["constructor", "toString"])
    assertRefused(await flags(service, "PUT /bad.names", { defaultVariant: "hasOwnProperty" }), 400)
  })
})

it("an invalid change is rejected like an invalid new flag, and the flag stays the same", async () => {
  const before = await makeFlag(service, "bad.change", { targeting: { if: [true, "on", "off"] } })
  for (const change of [
    { variants: { off: false } },
    { targeting: { nothing: [] } },
    { defaultVariant: "none" },
    { variants: { on: true, off: 0 } },
    "[]",
    '"x"',
    "{"
  ]) {
    assertRefused(await flags(service, "PUT /bad.change", change), 400)
  }
  // Other files evaluate all flags of the service meanwhile.
  const { revision, targeting, updated_at, variants } = before
  assert.deepInclude((await flags(service, "GET /bad.change")).json as object, {
    revision,
    targeting,
    updated_at,
    variants
  })
})

it("a segment is rejected for its rules, its key, and two different keys", async () => {
  await makeSegment(service, "bad.segment", { "==": [1, 1] })
  for (const given of [
    { key: "bad.new", rules: { matches: [] } },
    { key: "bad.new", rules: [] },
    { key: "bad.new" },
    { rules: {} },
    { key: "bad.a", segmentKey: "bad.b", rules: {} },
    { key: "bad.new", rules: {}, name: "x".repeat(101) },
    { key: "bad.new", rules: JSON.parse(nested(65)) as object }
  ]) {
    assertRefused(await flags(service, "POST /segments", given), 400)
  }
  assertRefused(await flags(service, "POST /segments", { key: "bad.segment", rules: {} }), 409, "SEGMENT_EXISTS")
  assertRefused(await flags(service, "PUT /segments/bad.segment", { key: "other" }), 400)
  assertRefused(await flags(service, "PUT /segments/bad.segment", { rules: { nothing: [] } }), 400)
})
