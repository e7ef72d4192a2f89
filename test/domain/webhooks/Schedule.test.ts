import { assert, describe, it } from "vitest"
import { retryAfterMillis, retryDelay } from "../../../src/domain/webhooks/Schedule.ts"

const steps = [1_000, 10_000]

describe("retryDelay", () => {
  it("is the step of the attempt, a tenth more or less", () => {
    assert.strictEqual(retryDelay(steps, 1, undefined, 0.5), 1_000)
    assert.strictEqual(retryDelay(steps, 2, undefined, 0), 9_000)
    assert.strictEqual(retryDelay(steps, 2, undefined, 1), 11_000)
  })
  it("is null when the schedule is used up", () => {
    assert.isNull(retryDelay(steps, 3, undefined, 0.5))
    assert.isNull(retryDelay([], 1, 5_000, 0.5))
  })
  it("follows Retry-After up to twice the step, and never comes earlier for it", () => {
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
