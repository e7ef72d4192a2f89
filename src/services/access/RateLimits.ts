import { Clock, Context, Effect, Layer } from "effect"
import { SlidingWindow, type Taken } from "../../domain/access/SlidingWindow.ts"

/**
 * Capability: at most so many calls per API key in any 60 seconds. Counted in this process's memory:
 * a restart forgets, and each replica counts for itself.
 */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Counts one call, or refuses it. A new limit applies from the next call on, to the calls already counted. */
    readonly take: (keyId: number, limit: number) => Effect.Effect<Taken>
    /** The same without a fiber, for the hot path. `now` in milliseconds of `monotonicMillis`. */
    readonly takeAt: (keyId: number, limit: number, now: number) => Taken
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

/** Milliseconds of a clock that is never set back: a corrected wall clock must not lock a key out, or let it free. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
