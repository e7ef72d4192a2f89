import { Clock, Effect } from "effect"

/**
 * For work of many short steps: gives an effect to run between steps, which yields to the event loop once `millis` have
 * passed since it last did.
 */
export const yieldEvery = (millis = 5) =>
  Effect.map(Clock.Clock, (clock) => {
    let last = clock.currentTimeMillisUnsafe()
    return Effect.suspend(() => {
      if (clock.currentTimeMillisUnsafe() - last < millis) return Effect.void
      return Effect.map(Effect.yieldNow, () => {
        last = clock.currentTimeMillisUnsafe()
      })
    })
  })
