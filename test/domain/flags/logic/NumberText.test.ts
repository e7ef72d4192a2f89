import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { parsedNumber, plainNumber, trimmedText, wholeNumber } from "../../../../src/domain/flags/logic/NumberText.ts"
import { isTextBefore } from "../../../../src/domain/flags/logic/Values.ts"

describe("numbers as texts", () => {
  it("are written without exponent, and read back the same", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = plainNumber(value)
        assert.match(text, /^-?\d+(\.\d+)?$/)
        assert.strictEqual(parsedNumber(text), value)
        assert.strictEqual(parsedNumber(String(value)), value)
      })
    )
  })

  it("are parsed as in Go", () => {
    const read: Record<string, number | undefined> = {
      "1_000": 1000,
      "1__0": undefined,
      _1: undefined,
      "1_": undefined,
      "1_.5": undefined,
      "1e1_0": 1e10,
      "+5": 5,
      "5.": 5,
      ".5": 0.5,
      ".": undefined,
      "": undefined,
      " 1": undefined,
      "1e": undefined,
      "0x10": undefined,
      "0x1p4": 16,
      "0X1.8P1": 3,
      "0x_1p0": 1,
      "-0x.8p0": -0.5,
      "0x1p-1074": 5e-324,
      "0x1p1024": Number.POSITIVE_INFINITY,
      "0x0p9": 0,
      "0x.p1": undefined,
      "1e400": Number.POSITIVE_INFINITY,
      "-1e400": Number.NEGATIVE_INFINITY,
      inf: Number.POSITIVE_INFINITY,
      "-Infinity": Number.NEGATIVE_INFINITY,
      infin: undefined,
      nan: Number.NaN,
      "+nan": undefined,
      "0x1.fffffffffffff8p0": 2,
      "0x1.fffffffffffff7p0": 1.9999999999999998,
      "0x1.00000000000008p0": 1,
      "0x1.0000000000000800000000000000000000000001p0": 1.0000000000000002,
      "1e-400": 0,
      "0b1": undefined,
      "1d": undefined
    }
    for (const [text, value] of Object.entries(read)) assert.deepStrictEqual(parsedNumber(text), value, text)
  })

  it("are truncated to 64 bits", () => {
    assert.deepStrictEqual([1.9, -1.9, 1e18, 2 ** 63, -1e30, Number.NaN].map(wholeNumber), [
      1,
      -1,
      1e18,
      -(2 ** 63),
      -(2 ** 63),
      -(2 ** 63)
    ])
  })
})

describe("texts", () => {
  it("are ordered by code points", () => {
    const unit = fc.constantFrom("a", "\ud7ff", "\ue000", "\uffee", "\u{10000}", "\u{10ffff}", "é")
    const text = fc.array(unit, { maxLength: 4 }).map((units) => units.join(""))
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.strictEqual(isTextBefore(a, b), Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0)
      })
    )
  })

  it("lose exactly Unicode's white space at both ends", () => {
    assert.strictEqual(trimmedText("\u0085\u00a0\u3000 \t\n\ufeff a\u200b \u2028"), "\ufeff a\u200b")
    assert.strictEqual(trimmedText(" \n "), "")
  })
})
