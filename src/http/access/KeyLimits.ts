import { Clock, Context, Effect, Layer } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { type LiveKey } from "../../services/access/Keys.ts"
import { monotonicMillis, RateLimits } from "../../services/access/RateLimits.ts"
import { type Admission } from "./ServedRequest.ts"

/** Counts the requests of keys that have a rate limit. */
export class KeyLimits extends Context.Service<
  KeyLimits,
  {
    /** Counts a request of a key that is verified, and says so in its admission; fails if it exceeds the limit. */
    readonly take: (key: LiveKey, admission: Admission) => Effect.Effect<void, TooManyRequests>
  }
>()("svc/http/KeyLimits") {
  static readonly layer = Layer.effect(
    KeyLimits,
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const clock = yield* Clock.Clock

      const take = (key: LiveKey, admission: Admission): Effect.Effect<void, TooManyRequests> => {
        const { rateLimit } = key
        admission.credential = { _tag: "Key", key }
        if (rateLimit === null) return Effect.void
        return Effect.flatMapEager(limits.take(key.id, rateLimit, monotonicMillis(clock)), (taken) => {
          admission.limit = rateLimit
          admission.remaining = taken.remaining
          if (taken.allowed) return Effect.void
          admission.reset = taken.resetSeconds
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
