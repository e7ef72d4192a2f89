import { assert, describe, it } from "@effect/vitest"
import { encode, Token, Type } from "cborg"
import * as fc from "fast-check"
import { cbor } from "../../../../src/domain/flags/logic/Cbor.ts"
import { type FlagContext } from "../../../../src/domain/flags/Evaluation.ts"
import { hashBytes, hashText } from "../../../../src/domain/flags/logic/Fractional.ts"
import { type FlagHashing, flagHashings, FlagScope } from "../../../../src/domain/flags/logic/Scope.ts"
import { CompiledFlag } from "../../../../src/domain/flags/sets/Set.ts"

const variants = { a: 1, b: 2, c: 3 }

/** The variant of each context; the default variant is not in a bucket. */
const assigned = (targeting: unknown, contexts: ReadonlyArray<FlagContext>, hashing: FlagHashing = "v2") => {
  const flag = new CompiledFlag(
    { key: "rollout", state: "ENABLED", variants: { ...variants, none: 0 }, defaultVariant: "none", targeting },
    hashing
  )
  const metadata = { flagSetId: "dev", version: "1" }
  return contexts.map((context) => {
    const result = flag.evaluate(context, 0, metadata)
    return result.reason === "ERROR" ? result.errorCode : result.variant
  })
}

const buckets = [
  ["a", 10],
  ["b", 20],
  ["c", 70]
]
const byUser = { cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }
const users = (count: number): ReadonlyArray<FlagContext> =>
  Array.from({ length: count }, (_, i) => ({ targetingKey: `user-${i}`, id: i }))

describe("fractional", () => {
  for (const hashing of flagHashings) {
    it(`${hashing}: keeps its weights within 1 % over 100,000 users`, () => {
      const counts = { a: 0, b: 0, c: 0 }
      const rule = { fractional: [byUser, ...buckets] }
      for (const variant of assigned(rule, users(100_000), hashing)) counts[variant as keyof typeof counts] += 1
      assert.closeTo(counts.a, 10_000, 1000)
      assert.closeTo(counts.b, 20_000, 1000)
      assert.closeTo(counts.c, 70_000, 1000)
    }, 30_000)
  }

  it("hashes flag key and targeting key by default", () => {
    const some = users(1000)
    assert.deepStrictEqual(
      assigned({ fractional: [byUser, ...buckets] }, some),
      assigned({ fractional: buckets }, some)
    )
  })

  it("keeps users in their buckets when a rollout grows", () => {
    const some = users(5000)
    const before = assigned({ fractional: [byUser, ["a", 10], ["b", 90]] }, some)
    const after = assigned({ fractional: [byUser, ["a", 25], ["b", 75]] }, some)
    const moved = before.flatMap((variant, i) => (variant === after[i] ? [] : [`${variant}${after[i]}`]))
    assert.deepStrictEqual(Array.from(new Set(moved)), ["ba"])
    assert.closeTo(moved.length, 750, 150)
  })

  it("distributes hashes at the ends of the range", () => {
    const ends = { ejOoVL: 0, "bY9fO-": 1, "SI7p-": 2 ** 31 - 1, "6LvT0": 2 ** 31, ceQdGm: 2 ** 32 - 1 }
    for (const [text, hash] of Object.entries(ends)) assert.strictEqual(hashText(text), hash)
    const contexts = Object.keys(ends).map((text) => ({ text }))
    const half = assigned({ fractional: [{ var: "text" }, ["a", 50], ["b", 50]] }, contexts)
    assert.deepStrictEqual(half, ["a", "a", "a", "b", "b"])
    const last = assigned({ fractional: [{ var: "text" }, ["a", 2 ** 31 - 2], ["b", 1]] }, contexts)
    assert.deepStrictEqual(last, ["a", "a", "a", "a", "b"])
  })

  it("finds the bucket that exact arithmetic finds", () => {
    const text = fc.string({ maxLength: 12 })
    const weight = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 700_000_000 }))
    fc.assert(
      fc.property(text, fc.tuple(weight, weight, weight), (key, weights) => {
        const total = BigInt(weights[0] + weights[1] + weights[2])
        const bucket = (BigInt(hashText(key)) * total) >> 32n
        const ends = [BigInt(weights[0]), BigInt(weights[0] + weights[1]), total]
        const expected = ["a", "b", "c"][ends.findIndex((end) => bucket < end)] ?? "none"
        const rule = { fractional: [{ var: "key" }, ["a", weights[0]], ["b", weights[1]], ["c", weights[2]]] }
        assert.deepStrictEqual(assigned(rule, [{ key }]), [expected])
      })
    )
  })

  it("hashes UTF-8, as text and as bytes", () => {
    assert.strictEqual(hashText("é"), 269_551_495)
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        assert.strictEqual(hashText(text), hashBytes(Buffer.from(text, "utf8").toString("latin1")))
      })
    )
  }, 30_000)

  it("v3: hashes values of any type except null", () => {
    const rule = { fractional: [{ var: "value" }, ["a", 1], ["b", 1]] }
    const values = [1, 1.5, true, false, "x", { b: 1, a: [2] }, { a: [2], b: 1 }]
    const first = assigned(
      rule,
      values.map((value) => ({ value })),
      "v3"
    )
    assert.deepStrictEqual(
      first,
      values.map((value) => (hashBytes(encoded(value)) < 2 ** 31 ? "a" : "b"))
    )
    assert.strictEqual(first[5], first[6])
    assert.deepStrictEqual(assigned(rule, [{ targetingKey: "u" }, { value: null, targetingKey: "u" }], "v3"), [
      "none",
      "none"
    ])
    const ids = assigned({ fractional: [{ var: "id" }, ["a", 1], ["b", 1]] }, users(10_000), "v3")
    assert.closeTo(ids.filter((variant) => variant === "a").length, 5000, 300)
    assert.deepStrictEqual(
      assigned({ fractional: [["a", 1]] }, [{}, { targetingKey: 5 }, { targetingKey: "u" }], "v3"),
      ["none", "none", "a"]
    )
  })
})

const encoded = (value: unknown): string => cbor(value, new FlagScope({}, "v3"))

describe("cbor", () => {
  // RFC 8949, appendix A; whole numbers are integers here even where the examples there are floats.
  const examples: ReadonlyArray<readonly [unknown, string]> = [
    [0, "00"],
    [-0, "00"],
    [1, "01"],
    [10, "0a"],
    [23, "17"],
    [24, "1818"],
    [25, "1819"],
    [100, "1864"],
    [1000, "1903e8"],
    [1_000_000, "1a000f4240"],
    [1_000_000_000_000, "1b000000e8d4a51000"],
    [-1, "20"],
    [-10, "29"],
    [-100, "3863"],
    [-1000, "3903e7"],
    [2 ** 63, "1b8000000000000000"],
    [-(2 ** 63), "3b7fffffffffffffff"],
    [1.1, "fb3ff199999999999a"],
    [1.5, "f93e00"],
    [-4.1, "fbc010666666666666"],
    [1e300, "fb7e37e43c8800759c"],
    [0.5, "f93800"],
    [5.960464477539063e-8, "f90001"],
    [0.00006103515625, "f90400"],
    [3.4028234663852886e38, "fa7f7fffff"],
    [1e-7, "fb3e7ad7f29abcaf48"],
    [65_504.5, "fa477fe080"],
    [0.1, "fb3fb999999999999a"],
    [false, "f4"],
    [true, "f5"],
    [null, "f6"],
    ["", "60"],
    ["a", "6161"],
    ["IETF", "6449455446"],
    ['"\\', "62225c"],
    ["\u00fc", "62c3bc"],
    ["\u6c34", "63e6b0b4"],
    ["\ud800\udd51", "64f0908591"],
    [[], "80"],
    [[1, 2, 3], "83010203"],
    [[1, [2, 3], [4, 5]], "8301820203820405"],
    [{}, "a0"],
    [{ b: [2, 3], a: 1 }, "a26161016162820203"],
    [{ aa: 1, b: 2 }, "a261620262616101"]
  ]

  it("equals the examples of the RFC", () => {
    for (const [value, hex] of examples) {
      assert.strictEqual(Buffer.from(encoded(value), "latin1").toString("hex"), hex, JSON.stringify(value))
    }
  })

  /** Whether half precision holds the number only as a subnormal. */
  const isSubnormalHalf = (value: number) => Math.abs(value) < 2 ** -14 && Number.isInteger(value * 2 ** 24)

  /** The bytes of cborg, with integers beyond 2^53 passed as such. */
  const byCborg = (value: unknown) => {
    const number = (value: number) =>
      Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64
        ? new Token(value < 0 ? Type.negint : Type.uint, BigInt(value))
        : new Token(Type.float, value)
    return Buffer.from(encode(value, { typeEncoders: { number } })).toString("hex")
  }
  const hexOf = (value: unknown) => Buffer.from(encoded(value), "latin1").toString("hex")

  it("equals cborg's, except for subnormal halves, which cborg does not shorten", () => {
    const number = fc
      .oneof(
        fc.double(),
        fc.float(),
        fc.integer({ min: -600_000, max: 600_000 }).map((eighths) => eighths / 8),
        fc.double({ min: 2 ** 50, max: 2 ** 66 }).map(Math.trunc)
      )
      .filter((value) => !isSubnormalHalf(value))
    const text = fc.string({ unit: "binary", maxLength: 300 })
    const key = fc.oneof(text, fc.constantFrom("constructor", "__proto__", "toString"))
    const value = fc.object({ key, values: [number, text, fc.boolean(), fc.constant(null)], maxDepth: 4 })
    fc.assert(
      fc.property(fc.oneof(number, value), (given) => assert.strictEqual(hexOf(given), byCborg(given))),
      { numRuns: 2000 }
    )
    assert.strictEqual(hexOf(3 * 2 ** -24), "f90003")
    assert.strictEqual(byCborg(3 * 2 ** -24), "fa34400000")
  }, 30_000)

  it("writes each half-precision number in three bytes", () => {
    const view = new DataView(new ArrayBuffer(2))
    for (let bits = 0; bits < 2 ** 16; bits++) {
      view.setUint16(0, bits)
      const value = view.getFloat16(0)
      if (Number.isInteger(value) || Number.isNaN(value)) continue
      assert.strictEqual(hexOf(value), `f9${bits.toString(16).padStart(4, "0")}`)
    }
  })
})
