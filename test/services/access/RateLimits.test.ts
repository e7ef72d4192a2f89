import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"

describe("RateLimits", () => {
  it.effect("allows the limit, refuses the next call, and allows another a minute after the first", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      for (const remaining of [2, 1, 0]) {
        assert.deepStrictEqual(yield* limits.take(7, 3), { allowed: true, limit: 3, remaining, resetSeconds: 60 })
      }
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* limits.take(7, 3), { allowed: false, limit: 3, remaining: 0, resetSeconds: 40 })
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* limits.take(7, 3), { allowed: true, limit: 3, remaining: 2, resetSeconds: 60 })
    }).pipe(Effect.provide(RateLimits.layer))
  )

  it.effect("counts each key separately", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      assert.isTrue((yield* limits.take(1, 1)).allowed)
      assert.isFalse((yield* limits.take(1, 1)).allowed)
      assert.isTrue((yield* limits.take(2, 1)).allowed)
    }).pipe(Effect.provide(RateLimits.layer))
  )

  it.effect("applies a new limit at once", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      yield* limits.take(1, 5)
      yield* limits.take(1, 5)
      assert.isFalse((yield* limits.take(1, 2)).allowed)
      assert.deepStrictEqual(yield* limits.take(1, 4), { allowed: true, limit: 4, remaining: 1, resetSeconds: 60 })
    }).pipe(Effect.provide(RateLimits.layer))
  )

  it.effect("never exceeds the limit with simultaneous calls", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const taken = yield* Effect.all(
        Array.from({ length: 50 }, () => limits.take(1, 20)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(taken.filter((one) => one.allowed).length, 20)
    }).pipe(Effect.provide(RateLimits.layer))
  )
})
