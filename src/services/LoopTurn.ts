import { Clock, Effect } from "effect"
import { FairQueue } from "../domain/FairQueue.ts"

const waiting = new FairQueue<() => void>()
let serving = false

const serve = () => {
  const start = waiting.shift(() => true)
  serving = start !== undefined
  if (start === undefined) return
  start()
  setImmediate(serve)
}

/** Bytes of a request that are worth a turn of their own: parsing them may take milliseconds. */
export const largeBody = 32 * 1024

const wait = (client: string, start: () => void) => {
  waiting.push(client, start)
  if (serving) return
  serving = true
  setImmediate(serve)
}

/**
 * Resolves when the caller may do work of some milliseconds at once, such as parsing a large body: one caller in each turn
 * of the event loop, which serves small requests in between. Clients, such as addresses, take turns.
 */
export const loopTurn = (client: string): Promise<void> => new Promise((resolve) => wait(client, resolve))

/** A turn for the service's own work, and for work of clients that have taken turns before (see `Turns`). */
export const aLoopTurn: Effect.Effect<void> = Effect.callback((resume) => wait("", () => resume(Effect.void)))

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
