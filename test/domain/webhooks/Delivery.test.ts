import { assert, describe, it } from "vitest"
import { loggedText, retryAfterMillis, retryDelay } from "../../../src/domain/webhooks/Delivery.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

describe("loggedText", () => {
  it("returns up to 1,024 bytes unchanged", () => {
    assert.strictEqual(loggedText(utf8("")), "")
    assert.strictEqual(loggedText(utf8("é".repeat(512))), "é".repeat(512))
    assert.strictEqual(loggedText(utf8("x".repeat(5_000))), "x".repeat(1_024))
  })

  it("is cut at a character boundary", () => {
    assert.strictEqual(loggedText(utf8(`x${"é".repeat(600)}`)), `x${"é".repeat(511)}`)
    assert.strictEqual(loggedText(utf8(`x${"🎉".repeat(300)}`)), `x${"🎉".repeat(255)}`)
  })

  it("replaces what PostgreSQL can't store by U+FFFD", () => {
    assert.strictEqual(loggedText(Uint8Array.of(0x61, 0xff, 0x00, 0x62)), "a\ufffd\ufffdb")
    assert.strictEqual(loggedText(utf8("é").subarray(0, 1)), "\ufffd")
    assert.isTrue(loggedText(Uint8Array.of(0xed, 0xa0, 0x80)).isWellFormed())
  })
})

const steps = [1_000, 10_000]

describe("retryDelay", () => {
  it("is the step of the attempt, plus or minus a tenth", () => {
    assert.strictEqual(retryDelay(steps, 1, undefined, 0.5), 1_000)
    assert.strictEqual(retryDelay(steps, 2, undefined, 0), 9_000)
    assert.strictEqual(retryDelay(steps, 2, undefined, 1), 11_000)
  })
  it("is null when the schedule is exhausted", () => {
    assert.isNull(retryDelay(steps, 3, undefined, 0.5))
    assert.isNull(retryDelay([], 1, 5_000, 0.5))
  })
  it("follows Retry-After up to twice the step, and never shortens the delay", () => {
    assert.strictEqual(retryDelay(steps, 1, 1_500, 0.5), 1_500)
    assert.strictEqual(retryDelay(steps, 1, 3_600_000, 0.5), 2_000)
    assert.strictEqual(retryDelay(steps, 1, 10, 0.5), 1_000)
  })
})

describe("retryAfterMillis", () => {
  const now = Date.UTC(2026, 0, 1)
  it.each([
    ["0", 0],
    ["120", 120_000],
    ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
    ["-1", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["2026", 2_026_000],
    ["", undefined],
    ["9".repeat(400), undefined],
    [undefined, undefined]
  ])("%s", (header, millis) => {
    assert.strictEqual(retryAfterMillis(header, now), millis)
  })
})
