import { Clock, Context, Effect, Layer } from "effect"
import { SlidingWindow, type WindowResult } from "../../domain/access/SlidingWindow.ts"

/**
 * Limits the calls per API key in any 60 seconds. Counted in this process's memory: a restart resets the counts, and
 * each replica counts separately.
 */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Counts or refuses one call. A changed limit applies from the next call, to the calls already counted. */
    readonly take: (keyId: number, limit: number) => Effect.Effect<WindowResult>
    /** The same without a fiber, for the hot path. `now` is `monotonicMillis`. */
    readonly takeAt: (keyId: number, limit: number, now: number) => WindowResult
  }
>()("svc/services/RateLimits") {
  static readonly layer = Layer.effect(
    RateLimits,
    Effect.sync(() => {
      const windows = new SlidingWindow()
      const takeAt = (keyId: number, limit: number, now: number) => windows.take(keyId, limit, now)
      return RateLimits.of({
        take: (keyId, limit) =>
          Clock.clockWith((clock) => Effect.sync(() => takeAt(keyId, limit, monotonicMillis(clock)))),
        takeAt
      })
    })
  )
}

/** Milliseconds of a clock that is never adjusted: a change of the wall clock must neither block nor unblock a key. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
