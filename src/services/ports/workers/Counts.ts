import { Context } from "effect"
import { SlidingWindow, type WindowResult } from "../../../domain/access/SlidingWindow.ts"
import {
  type Place,
  PlaceCounts,
  type PlaceLimits,
  type WindowName,
  keyNumber
} from "../../../domain/access/CountLog.ts"

/** Calls of each key in the last 60 seconds. */
export interface Windows {
  /** Counts one call of a key unless the limit is reached. `now` is `monotonicMillis`. */
  readonly take: (key: number | string, limit: number, now: number) => WindowResult
  /** Whole seconds until a key at its limit is below it; 0 when a call would be allowed now. Counts nothing. */
  readonly blockedSeconds: (key: number | string, limit: number, now: number) => number
}

/** Places that are taken for a while, and given back when their process ends in any way. */
export interface Places {
  /** Takes a place for a client. */
  readonly enter: (client: string, limits: PlaceLimits) => Place
  readonly leave: (client: string) => void
  readonly taken: () => number
}

/** Places in this process's memory. */
const places = (): Places => {
  const counts = new PlaceCounts()
  return {
    enter: (client, limits) => counts.enter(0, keyNumber(client), limits),
    leave: (client) => counts.leave(0, keyNumber(client)),
    taken: () => counts.taken
  }
}

/**
 * Port: counts that all workers of this service share, exactly and synchronously. Without workers, they are in this
 * process's memory. Layer: layers/workers/Worker.ts.
 */
export const Counts = Context.Reference<{
  readonly windows: (name: WindowName) => Windows
  readonly realtimeClients: () => Places
}>("svc/services/Counts", {
  defaultValue: () => ({ windows: () => new SlidingWindow<number | string>(), realtimeClients: places })
})
