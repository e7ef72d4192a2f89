import { type Clock, Context, Effect, Layer } from "effect"
import { type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { oneOf } from "../../domain/Settings.ts"
import { Counts } from "../ports/workers/Counts.ts"
import { makeReplicaLimits } from "./ReplicaLimits.ts"

/**
 * Limits the calls per API key in any 60 seconds. SVC_RATE_LIMITS: `process` counts in memory, over all workers (a restart
 * resets the counts); `database` over all replicas, with an error that ReplicaLimits.ts states.
 */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Counts or refuses one call. A changed limit applies from the next call, to the calls already counted. `now` is
     * `monotonicMillis`. Evaluated without a fiber unless the database must be asked.
     */
    readonly take: (keyId: number, limit: number, now: number) => Effect.Effect<WindowResult>
  }
>()("svc/services/RateLimits") {
  /** Counted in memory. */
  static readonly layerProcess = Layer.effect(
    RateLimits,
    Effect.map(Counts, (counts) => {
      const windows = counts.windows("api-keys")
      return RateLimits.of({ take: (keyId, limit, now) => Effect.succeed(windows.take(keyId, limit, now)) })
    })
  )

  static readonly layer = Layer.unwrap(
    Effect.map(oneOf("SVC_RATE_LIMITS", "process", ["process", "database"]), (scope) =>
      scope === "process"
        ? RateLimits.layerProcess
        : Layer.effect(
            RateLimits,
            Effect.map(makeReplicaLimits, (take) => RateLimits.of({ take }))
          )
    )
  )
}

/** Milliseconds of a clock that is never adjusted: a change of the wall clock must neither block nor unblock a key. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
