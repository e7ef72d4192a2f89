import { type MinutesQuery, type RequestCounts } from "./Request.ts"
import { Tally, type TallyJson } from "./Tally.ts"

const minuteMillis = 60_000
/** Minutes that are kept, the current one included. */
const kept = 60

/** Tallies by route, then method. */
type Cells = Map<string, Map<string, Tally>>

/**
 * Tallies of one minute, about 1 KB each. A caller without a key can ask for every route by every method; what is beyond is
 * counted together, as a request without a route.
 */
const maxTallies = 128

/** The counts of one process, for another. */
export interface Counted {
  readonly minutes: ReadonlyArray<readonly [minute: number, tally: TallyJson]>
  readonly routes: ReadonlyArray<readonly [route: string, method: string, tally: TallyJson]>
}

/** Methods that have counts of their own for as long as the process lives: there are few routes, and any number of methods. */
const lasting: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])

/** Counts of the last hour, by minute, route and method, and of all time, by route and method. */
export class Minutes {
  /** The counts of the minutes that are no longer kept. */
  private readonly before: Cells = new Map()
  private readonly slots = Array.from({ length: kept }, () => ({ minute: -1, tallies: 0, cells: new Map() as Cells }))

  /** `at`: when it ended, in ms since 1970. */
  add(at: number, route: string, method: string, status: number, millis: number, bytes: number): void {
    const minute = Math.floor(at / minuteMillis)
    const slot = this.slots[minute % kept]
    if (slot === undefined) return
    if (slot.minute !== minute) {
      addTo(this.before, slot.cells)
      slot.minute = minute
      slot.tallies = 0
      slot.cells = new Map()
    }
    let tally = slot.cells.get(route)?.get(method)
    if (tally === undefined) {
      const full = slot.tallies >= maxTallies
      tally = tallyOf(slot.cells, full ? "" : route, full ? otherMethods : method, () => slot.tallies++)
    }
    tally.add(status, millis, bytes)
  }

  /** The counts of all requests since the process started. No count ever falls. */
  get total(): ReadonlyArray<readonly [route: string, method: string, tally: Tally]> {
    const all: Cells = new Map()
    for (const cells of [this.before, ...this.slots.map(({ cells }) => cells)]) addTo(all, cells)
    return listOf(all, (tally) => tally)
  }

  counted(now: number, wanted: MinutesQuery): Counted {
    const current = Math.floor(now / minuteMillis)
    const minutes: Array<readonly [number, TallyJson]> = []
    const routes: Cells = new Map()
    for (const { cells, minute } of this.slots) {
      if (minute <= current - kept || minute > current) continue
      const whole = new Tally()
      for (const [route, methods] of cells) {
        for (const [method, tally] of methods) {
          if ((wanted.route ?? route) !== route || (wanted.method ?? method) !== method) continue
          whole.merge(tally)
          tallyOf(routes, route, method).merge(tally)
        }
      }
      minutes.push([minute, whole.toJSON()])
    }
    return { minutes, routes: listOf(routes, (tally) => tally.toJSON()) }
  }
}

/** The method of requests that are counted together. */
const otherMethods = "other"

const tallyOf = (cells: Cells, route: string, method: string, onNew: () => void = () => undefined): Tally => {
  let methods = cells.get(route)
  if (methods === undefined) cells.set(route, (methods = new Map()))
  let tally = methods.get(method)
  if (tally === undefined) {
    methods.set(method, (tally = new Tally()))
    onNew()
  }
  return tally
}

const addTo = (all: Cells, cells: Cells) => {
  for (const [route, methods] of cells) {
    for (const [method, tally] of methods) tallyOf(all, route, lasting.has(method) ? method : otherMethods).merge(tally)
  }
}

const listOf = <A>(cells: Cells, show: (tally: Tally) => A) =>
  Array.from(cells, ([route, methods]) =>
    Array.from(methods, ([method, tally]) => [route, method, show(tally)] as const)
  ).flat()

/** The sum of what some processes have counted, each in some parts. */
export const countsOf = (now: number, processes: ReadonlyArray<ReadonlyArray<Counted>>): RequestCounts => {
  const current = Math.floor(now / minuteMillis)
  const byMinute = new Map(Array.from({ length: kept }, (_, at) => [current - kept + 1 + at, new Tally()] as const))
  const routes: Cells = new Map()
  for (const counted of processes.flat()) {
    for (const [minute, tally] of counted.minutes) byMinute.get(minute)?.merge(tally)
    for (const [route, method, tally] of counted.routes) tallyOf(routes, route, method).merge(tally)
  }
  return {
    processes: processes.length,
    minutes: Array.from(byMinute, ([minute, { counts }]) => ({
      minute: new Date(minute * minuteMillis).toISOString(),
      ...counts
    })),
    routes: Array.from(
      listOf(routes, ({ counts }) => counts),
      ([route, method, counts]) => ({ method, route: route === "" ? null : route, ...counts })
    ).sort((a, b) => b.requests - a.requests)
  }
}
