import { Clock, Effect } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { monotonicMillis } from "../access/RateLimits.ts"
import { type Windows } from "../ports/workers/Counts.ts"

/** Attempts in any 60 seconds. */
const attempts = 10

const exceeded = (limit: number, what: string, seconds: number) =>
  new TooManyRequests({
    error: `More than ${limit} ${what} in a minute; retry in ${seconds} s`,
    code: "TOO_MANY_GUESSES",
    retry_after: seconds
  })

/**
 * Limits how often a client, such as a session, an IP address or a recipient, may try something: `TOO_MANY_GUESSES`
 * above the limit. Counted in memory, like the rate limits of API keys.
 */
export const makeAttemptLimit =
  (windows: Windows, limit = attempts) =>
  (client: string): Effect.Effect<void, TooManyRequests> =>
    Effect.gen(function* () {
      const { allowed, resetSeconds } = windows.take(client, limit, monotonicMillis(yield* Clock.Clock))
      return allowed ? undefined : yield* exceeded(limit, "attempts", resetSeconds)
    })

/**
 * Limits failed attempts at things that can't be guessed, such as passkeys, because many users may share an address:
 * only client errors count.
 */
export const makeFailureLimit =
  (windows: Windows) =>
  <A, E extends { readonly status: number }>(client: string, attempt: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const seconds = windows.blockedSeconds(client, attempts, monotonicMillis(clock))
      if (seconds > 0) return yield* exceeded(attempts, "failed attempts", seconds)
      return yield* Effect.tapError(attempt, ({ status }) =>
        Effect.sync(() => {
          if (status < 500) windows.take(client, attempts, monotonicMillis(clock))
        })
      )
    })
