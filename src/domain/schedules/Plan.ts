import { type Times, nextTimes } from "./Times.ts"

/** What happens to times that came while no process was there to run them. */
export type CatchUp = "skip" | "once" | "all"

/** A time that is later than this, in ms, was missed. */
const tolerance = 60_000
/** Times that `all` runs later at most, the newest ones. */
const mostMissed = 100

export interface DueTimes {
  /** The times to run, in order. */
  readonly run: ReadonlyArray<number>
  /** The last one of those that were missed and are not run. */
  readonly missed: number | undefined
  /** The time after them; undefined if there is none. */
  readonly next: number | undefined
}

/** The times from `first` until `now`, at least the last `count` of them, without counting from `first` if that is long ago. */
const lastTimes = (times: Times, first: number, now: number, count: number): ReadonlyArray<number> => {
  for (let width = 1000; ; width *= 10) {
    const from = Math.max(first, now - width)
    const found = nextTimes(times, from - 1, Number.POSITIVE_INFINITY, now)
    if (found.length > count || from === first) return found
  }
}

/** What to do with the times of a schedule from `first`, which is its first one that has not run, until `now`. */
export const dueTimes = (times: Times, first: number, catchUp: CatchUp, now: number): DueTimes => {
  const due = lastTimes(times, first, now, catchUp === "all" ? mostMissed : 1)
  const last = due.at(-1)
  const next = times.next(Math.max(now, first - 1))
  if (last === undefined) return { run: [], missed: undefined, next }
  if (catchUp === "all") {
    const run = due.slice(-mostMissed)
    return { run, missed: due.at(-mostMissed - 1), next }
  }
  if (catchUp === "skip" && now - last > tolerance) return { run: [], missed: last, next }
  return { run: [last], missed: due.at(-2), next }
}
