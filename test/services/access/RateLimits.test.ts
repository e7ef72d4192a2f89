import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { monotonicMillis, RateLimits } from "../../../src/services/access/RateLimits.ts"

const take = Effect.fnUntraced(function* (keyId: number, limit: number) {
  return yield* (yield* RateLimits).take(keyId, limit, monotonicMillis(yield* Clock.Clock))
})

describe("RateLimits", () => {
  it.effect("allows the limit, refuses the next call, and allows another a minute after the first", () =>
    Effect.gen(function* () {
      for (const remaining of [2, 1, 0]) {
        assert.deepStrictEqual(yield* take(7, 3), { allowed: true, limit: 3, remaining, resetSeconds: 60 })
      }
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* take(7, 3), { allowed: false, limit: 3, remaining: 0, resetSeconds: 40 })
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* take(7, 3), { allowed: true, limit: 3, remaining: 2, resetSeconds: 60 })
    }).pipe(Effect.provide(RateLimits.layerProcess))
  )

  it.effect("counts each key separately", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* take(1, 1)).allowed)
      assert.isFalse((yield* take(1, 1)).allowed)
      assert.isTrue((yield* take(2, 1)).allowed)
    }).pipe(Effect.provide(RateLimits.layerProcess))
  )

  it.effect("applies a new limit at once", () =>
    Effect.gen(function* () {
      yield* take(1, 5)
      yield* take(1, 5)
      assert.isFalse((yield* take(1, 2)).allowed)
      assert.deepStrictEqual(yield* take(1, 4), { allowed: true, limit: 4, remaining: 1, resetSeconds: 60 })
    }).pipe(Effect.provide(RateLimits.layerProcess))
  )

  it.effect("never exceeds the limit with simultaneous calls", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.all(
        Array.from({ length: 50 }, () => take(1, 20)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(taken.filter((one) => one.allowed).length, 20)
    }).pipe(Effect.provide(RateLimits.layerProcess))
  )
})
