import { Effect } from "effect"
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
