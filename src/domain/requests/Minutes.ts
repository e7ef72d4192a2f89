import { Latencies } from "./Latencies.ts"
import { type MinutesQuery, type RequestCounts } from "./Request.ts"

/** A tally for another process. */
interface TallyJson {
  readonly statuses: ReadonlyArray<readonly [status: number, count: number]>
  readonly bytes: number
  /** The sum of all durations. */
  readonly millis: number
  readonly latencies: ReadonlyArray<number>
}

/** Counts of requests: by status, and of their durations and bytes. */
class Tally {
  readonly statuses = new Map<number, number>()
  readonly latencies = new Latencies()
  bytes = 0
  millis = 0

  /** A connection that was upgraded has no duration of a response. */
  add(status: number, millis: number, bytes: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status !== 101) {
      this.latencies.add(millis)
      this.millis += millis
    }
    if (bytes > 0) this.bytes += bytes
  }

  merge({ bytes, latencies, millis, statuses }: TallyJson | Tally): void {
    for (const [status, count] of statuses) this.statuses.set(status, (this.statuses.get(status) ?? 0) + count)
    this.latencies.merge(latencies)
    this.bytes += bytes
    this.millis += millis
  }

  toJSON(): TallyJson {
    const { bytes, millis } = this
    return { statuses: Array.from(this.statuses), bytes, millis, latencies: this.latencies.toJSON() }
  }

  /** The counts in the API's form. `errors` are those of the service, from 500 on. */
  get counts() {
    const entries = Array.from(this.statuses)
    const sum = (from: number, to: number) =>
      entries.reduce((all, [status, count]) => (status >= from && status < to ? all + count : all), 0)
    return {
      requests: sum(0, 1000),
      refused: sum(400, 500),
      errors: sum(500, 600),
      bytes: this.bytes,
      p50: this.latencies.percentile(0.5),
      p95: this.latencies.percentile(0.95),
      statuses: Object.fromEntries(this.statuses)
    }
  }
}

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

  /** What a minute of the last hour counts; undefined without requests. */
  of(minute: number): Tally | undefined {
    const slot = this.slots[minute % kept]
    if (slot === undefined || slot.minute !== minute) return undefined
    const whole = new Tally()
    for (const methods of slot.cells.values()) for (const tally of methods.values()) whole.merge(tally)
    return whole
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
