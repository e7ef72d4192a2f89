import { Clock, Effect } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { monotonicMillis } from "../access/RateLimits.ts"
import { type Windows } from "../ports/Counts.ts"

/** Attempts in any 60 seconds. */
const limit = 10

export type AttemptLimit = (client: string) => Effect.Effect<void, TooManyRequests>

/**
 * Limits how often a client, a session or an IP address, may try a code, passkey or address: `TOO_MANY_GUESSES` above
 * the limit. Counted in memory, like the rate limits of API keys.
 */
export const makeAttemptLimit =
  (windows: Windows): AttemptLimit =>
  (client) =>
    Effect.gen(function* () {
      const { allowed, resetSeconds } = windows.take(client, limit, monotonicMillis(yield* Clock.Clock))
      if (allowed) return
      return yield* new TooManyRequests({
        error: `More than ${limit} attempts in a minute; retry in ${resetSeconds} s`,
        code: "TOO_MANY_GUESSES",
        retry_after: resetSeconds
      })
    })
