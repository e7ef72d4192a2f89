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

/**
 * Resolves when the caller may do work of some milliseconds at once, such as parsing a large body: one caller in each turn
 * of the event loop, which serves small requests in between. Clients, such as addresses, take turns.
 */
export const loopTurn = (client: string): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(client, resolve)
    if (serving) return
    serving = true
    setImmediate(serve)
  })
