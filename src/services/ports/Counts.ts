import { Context } from "effect"
import { SlidingWindow, type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { type WindowName } from "../../domain/access/CountLog.ts"

/** Calls of each key in the last 60 seconds. */
export interface Windows {
  /** Counts one call of a key unless the limit is reached. `now` is `monotonicMillis`. */
  readonly take: (key: number | string, limit: number, now: number) => WindowResult
  /** Whole seconds until a key at its limit is below it; 0 when a call would be allowed now. Counts nothing. */
  readonly blockedSeconds: (key: number | string, limit: number, now: number) => number
}

/** Places that are taken for a while, and given back when their process ends in any way. */
export interface Places {
  /** Takes a place; false if `limit` are taken. */
  readonly enter: (limit: number) => boolean
  readonly leave: () => void
  readonly taken: () => number
}

const places = (): Places => {
  let taken = 0
  return { enter: (limit) => taken < limit && ++taken > 0, leave: () => void taken--, taken: () => taken }
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
