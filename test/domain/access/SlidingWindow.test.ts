import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { SlidingWindow, type WindowResult, windowMillis } from "../../../src/domain/access/SlidingWindow.ts"

/** The naive definition of the window. */
class Naive {
  private readonly calls = new Map<number, Array<number>>()

  take(key: number, limit: number, now: number): WindowResult {
    const recent = (this.calls.get(key) ?? []).filter((at) => at > now - windowMillis)
    const allowed = recent.length < limit
    if (allowed) recent.push(now)
    this.calls.set(key, recent)
    const leaves = (allowed ? recent[0] : recent[recent.length - limit]) ?? 0
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - recent.length),
      resetSeconds: Math.ceil((leaves + windowMillis - now) / 1000)
    }
  }
}

describe("SlidingWindow", () => {
  it("gives the results of the naive model for any keys, limits and pauses", () => {
    const call = fc.record({
      key: fc.integer({ min: 1, max: 3 }),
      limit: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(30)),
      pause: fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) },
        { weight: 3, arbitrary: fc.integer({ min: 4, max: 20_000 }) },
        { weight: 1, arbitrary: fc.integer({ min: 59_998, max: 130_000 }) }
      )
    })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 300 }), (calls) => {
        const window = new SlidingWindow()
        const naive = new Naive()
        let now = 1_000
        for (const { key, limit, pause } of calls) {
          now += pause
          assert.deepStrictEqual(window.take(key, limit, now), naive.take(key, limit, now))
        }
      }),
      { numRuns: 300 }
    )
  })

  it("slides: a call leaves exactly 60 seconds after it was made, not at a fixed minute", () => {
    const window = new SlidingWindow()
    assert.isTrue(window.take(1, 2, 30_000).allowed)
    assert.isTrue(window.take(1, 2, 59_000).allowed)
    assert.deepStrictEqual(window.take(1, 2, 61_000), { allowed: false, limit: 2, remaining: 0, resetSeconds: 29 })
    assert.isFalse(window.take(1, 2, 89_999).allowed)
    assert.isTrue(window.take(1, 2, 90_000).allowed)
    assert.isFalse(window.take(1, 2, 90_001).allowed)
  })

  it("does not count rejected calls", () => {
    const window = new SlidingWindow()
    window.take(1, 1, 0)
    for (let now = 1; now < windowMillis; now += 500) assert.isFalse(window.take(1, 1, now).allowed)
    assert.isTrue(window.take(1, 1, windowMillis).allowed)
  })

  it("applies a changed limit to the calls already made", () => {
    const window = new SlidingWindow()
    for (let i = 0; i < 10; i++) window.take(1, 10, i * 1000)
    assert.deepStrictEqual(window.take(1, 3, 10_000), { allowed: false, limit: 3, remaining: 0, resetSeconds: 57 })
    assert.deepStrictEqual(window.take(1, 12, 10_000), { allowed: true, limit: 12, remaining: 1, resetSeconds: 50 })
  })

  it("treats a clock that goes back as stopped", () => {
    const window = new SlidingWindow()
    window.take(1, 2, 100_000)
    assert.deepStrictEqual(window.take(1, 2, 5_000), { allowed: true, limit: 2, remaining: 0, resetSeconds: 60 })
    assert.isTrue(window.take(1, 2, 160_000).allowed)
  })

  it("removes idle keys", () => {
    const window = new SlidingWindow()
    for (let key = 0; key < 1000; key++) window.take(key, 5, 0)
    assert.strictEqual(window.size, 1000)
    window.take(1, 5, windowMillis)
    assert.strictEqual(window.size, 1)
  })

  it("stays fast at a million calls a minute", () => {
    const window = new SlidingWindow()
    const limit = 1_000_000
    const started = performance.now()
    let allowed = 0
    for (let call = 0; call < limit; call++) if (window.take(1, limit, (call * 3) / 50).allowed) allowed += 1
    assert.strictEqual(allowed, limit)
    assert.isFalse(window.take(1, limit, 59_999).allowed)
    // A minute of such calls takes about 30 ms; filtering an array for each would take hours.
    assert.isBelow(performance.now() - started, 10_000)
  })
})
