import { Clock, Context, Effect, Layer } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { type LiveKey } from "../../services/access/Keys.ts"
import { monotonicMillis, RateLimits } from "../../services/access/RateLimits.ts"

/** The values of the rate limit headers; -1 for unlimited and for unknown callers. */
export interface Quota {
  limit: number
  remaining: number
  /** Seconds after which a refused caller may retry; 0 when it was not refused. */
  reset: number
  /** The key, once it is verified. */
  key: LiveKey | undefined
}

/** Counts the requests of keys that have a rate limit. */
export class KeyLimits extends Context.Service<
  KeyLimits,
  {
    /** Counts a request and fills in `quota`; fails if it exceeds the limit. */
    readonly take: (key: LiveKey, quota: Quota) => Effect.Effect<void, TooManyRequests>
  }
>()("svc/http/KeyLimits") {
  static readonly layer = Layer.effect(
    KeyLimits,
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const clock = yield* Clock.Clock

      const take = (key: LiveKey, quota: Quota): Effect.Effect<void, TooManyRequests> => {
        const { rateLimit } = key
        quota.key = key
        if (rateLimit === null) return Effect.void
        return Effect.flatMapEager(limits.take(key.id, rateLimit, monotonicMillis(clock)), (taken) => {
          quota.limit = rateLimit
          quota.remaining = taken.remaining
          if (taken.allowed) return Effect.void
          quota.reset = taken.resetSeconds
          return Effect.fail(
            new TooManyRequests({
              error: `The rate limit of this key is ${rateLimit} requests per minute; retry in ${taken.resetSeconds} s`,
              retry_after: taken.resetSeconds
            })
          )
        })
      }
      return KeyLimits.of({ take })
    })
  )
}
