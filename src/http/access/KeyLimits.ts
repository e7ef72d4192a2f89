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
    /** Counts a request and fills in `quota`; the error if it exceeds the limit. */
    readonly take: (key: LiveKey, quota: Quota) => TooManyRequests | undefined
  }
>()("svc/http/KeyLimits") {
  static readonly layer = Layer.effect(
    KeyLimits,
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const clock = yield* Clock.Clock

      const take = (key: LiveKey, quota: Quota) => {
        quota.key = key
        if (key.rateLimit === null) return undefined
        const taken = limits.takeAt(key.id, key.rateLimit, monotonicMillis(clock))
        quota.limit = key.rateLimit
        quota.remaining = taken.remaining
        if (taken.allowed) return undefined
        quota.reset = taken.resetSeconds
        return new TooManyRequests({
          error: `The rate limit of this key is ${key.rateLimit} requests per minute; retry in ${taken.resetSeconds} s`,
          retry_after: taken.resetSeconds
        })
      }
      return KeyLimits.of({ take })
    })
  )
}
