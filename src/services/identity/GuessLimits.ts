import { Clock, Context, Effect, Layer } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { SlidingWindow } from "../../domain/access/SlidingWindow.ts"
import { monotonicMillis } from "../access/RateLimits.ts"

/** Guesses in any 60 seconds. */
const most = 10

/**
 * Capability: nobody tries codes, passkeys or addresses faster than a person does. Counted in this process's memory,
 * as the limits of API keys are (services/RateLimits.ts).
 */
export class GuessLimits extends Context.Service<
  GuessLimits,
  {
    /** Counts one guess of `who`, a session or a client's address; `TOO_MANY_GUESSES` when there were too many. */
    readonly take: (what: "code" | "passkey" | "recovery", who: string) => Effect.Effect<void, TooManyRequests>
  }
>()("svc/services/GuessLimits") {
  static readonly layer = Layer.sync(GuessLimits, () => {
    const windows = new SlidingWindow<string>()
    return GuessLimits.of({
      take: (what, who) =>
        Effect.gen(function* () {
          const now = monotonicMillis(yield* Clock.Clock)
          const { allowed, resetSeconds } = windows.take(`${what} ${who}`, most, now)
          if (allowed) return
          return yield* new TooManyRequests({
            error: `More than ${most} attempts in a minute; try again in ${resetSeconds} s`,
            code: "TOO_MANY_GUESSES",
            retry_after: resetSeconds
          })
        })
    })
  })
}
