import { Clock, Effect } from "effect"

/** How long work goes on at a stretch, in ms. */
const stretchMillis = 5

/**
 * For work of many short steps: run between two of them, it lets everything else of this process have its turn when
 * the work has been at it for long enough.
 */
export const breather = Effect.map(Clock.Clock, (clock) => {
  let began = clock.currentTimeMillisUnsafe()
  return Effect.suspend(() => {
    if (clock.currentTimeMillisUnsafe() - began < stretchMillis) return Effect.void
    return Effect.map(Effect.yieldNow, () => {
      began = clock.currentTimeMillisUnsafe()
    })
  })
})
