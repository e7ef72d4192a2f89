import { Clock, Context, Effect, Layer } from "effect"
import { type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { Counts } from "../ports/Counts.ts"

/**
 * Limits the calls per API key in any 60 seconds. Counted in memory, over all workers: a restart resets the counts, and
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
    Effect.map(Counts, (counts) => {
      const windows = counts.windows("api-keys")
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
