import { assert, describe, it } from "vitest"
import { renamedVariants, withRenames } from "../../../src/domain/flags/Edits.ts"
import { type JsonObject } from "../../../src/domain/text/JsonObject.ts"

/** Processor time of this thread, which other processes do not add to, in ms. */
const processorMillis = (run: () => void) => {
  const before = process.threadCpuUsage()
  run()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

const renames = (before: JsonObject, after: JsonObject) => Object.fromEntries(renamedVariants(before, after))

describe("a variant is renamed", () => {
  it("when one of the same value takes its place", () => {
    assert.deepStrictEqual(renames({ on: true, off: false }, { yes: true, no: false }), { on: "yes", off: "no" })
    assert.deepStrictEqual(renames({ a: { x: [1] }, b: {} }, { b: {}, c: { x: [1] } }), { a: "c" })
  })

  it("unless another one might be meant, or its value changes too", () => {
    assert.deepStrictEqual(renames({ a: 1, b: 1 }, { c: 1, d: 1 }), {})
    assert.deepStrictEqual(renames({ a: 1, b: 1 }, { c: 1 }), {})
    assert.deepStrictEqual(renames({ a: 1 }, { c: 1, d: 1 }), {})
    assert.deepStrictEqual(renames({ a: 1 }, { b: 2 }), {})
    assert.deepStrictEqual(renames({ a: 1, b: 2 }, { a: 2, b: 1 }), {})
  })

  it("of many, quickly", () => {
    const many = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, ["x".repeat(10), n]]))
    const [before, after] = [many("a", 20_000), many("b", 20_000)]
    assert.isBelow(
      processorMillis(() => assert.strictEqual(renamedVariants(before, after).size, 20_000)),
      200
    )
  })
})

describe("a rule with renamed variants", () => {
  const names = new Map([
    ["on", "yes"],
    ["off", "no"],
    ["true", "granted"],
    ["false", "denied"]
  ])
  const rule = (targeting: JsonObject) =>
    withRenames({ state: "ENABLED", defaultVariant: "off", targeting }, names).targeting

  it("has the new names where it returns the old ones", () => {
    assert.deepStrictEqual(
      rule({
        if: [{ "==": [{ var: "on" }, "on"] }, "on", { in: ["off", ["on", "off"]] }, { var: ["x", "off"] }, null]
      }),
      { if: [{ "==": [{ var: "on" }, "on"] }, "yes", { in: ["off", ["on", "off"]] }, { var: ["x", "no"] }, null] }
    )
    assert.deepStrictEqual(
      rule({ fractional: [{ var: "on" }, ["on", 10], [{ if: [{ var: "y" }, "off", "on"] }, 90]] }),
      { fractional: [{ var: "on" }, ["yes", 10], [{ if: [{ var: "y" }, "no", "yes"] }, 90]] }
    )
    assert.deepStrictEqual(rule({ or: [{ and: [{ var: "a" }, "on"] }, "off"] }), {
      or: [{ and: [{ var: "a" }, "yes"] }, "no"]
    })
    assert.deepStrictEqual(rule({ if: [{ var: "a" }, true, false] }), { if: [{ var: "a" }, "granted", "denied"] })
  })

  it("is otherwise the same: segments, computed results, and literals whose truth decides stay", () => {
    for (const same of [
      { $ref: "on" },
      { "==": [{ var: "a" }, true] },
      { and: [false, "other"] },
      { cat: ["on", ""] },
      { var: "on" },
      {}
    ]) {
      assert.deepStrictEqual(rule(same), same)
    }
    const given = { if: [{ var: "a" }, "on"] }
    rule(given)
    assert.deepStrictEqual(given, { if: [{ var: "a" }, "on"] })
  })

  it("of ten thousand literals takes little time", () => {
    const many = Array.from({ length: 9_999 }, (_, n) => (n % 2 === 0 ? { var: "a" } : "on"))
    assert.isBelow(
      processorMillis(() => assert.include(JSON.stringify(rule({ if: many })), "yes")),
      200
    )
  })
})
