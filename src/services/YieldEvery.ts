import { Clock, Effect } from "effect"
import { aLoopTurn } from "./LoopTurn.ts"

/** Work that is done in steps: `step` handles at most `size` bytes, and returns whether it was the last one. */
export interface Steps {
  readonly step: (size: number) => boolean
}

/** Takes less than a millisecond. */
const stepSize = 64 * 1024

/** Does all steps, and lets the event loop serve others between them. */
export const inSteps = <A extends Steps>(work: A): Effect.Effect<A> =>
  Effect.suspend(() => (work.step(stepSize) ? Effect.succeed(work) : furtherSteps(work)))

const furtherSteps = Effect.fnUntraced(function* <A extends Steps>(work: A) {
  const pause = yield* yieldEvery()
  do yield* pause
  while (!work.step(stepSize))
  return work
})

/**
 * Splits work of many short steps: returns an effect to run between steps, which yields to the event loop if `millis`
 * have passed since it last did.
 */
export const yieldEvery = (millis = 5) =>
  Effect.map(Clock.Clock, (clock) => {
    let last = clock.currentTimeMillisUnsafe()
    return Effect.suspend(() => {
      if (clock.currentTimeMillisUnsafe() - last < millis) return Effect.void
      return Effect.map(aLoopTurn, () => {
        last = clock.currentTimeMillisUnsafe()
      })
    })
  })
