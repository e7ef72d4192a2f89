import { Clock, Effect } from "effect"
import { monotonicMillis } from "../access/RateLimits.ts"

/** Calls take a multiple of this time, in ms: a response time would reveal which addresses exist. */
const paceMillis = 250

/** Makes a call take as long for every address, whether it succeeds or fails. */
export const paced = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const began = monotonicMillis(clock)
    return yield* Effect.onExit(effect, () =>
      Effect.suspend(() => Effect.sleep(paceMillis - ((monotonicMillis(clock) - began) % paceMillis)))
    )
  })
