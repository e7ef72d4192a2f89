import { Latencies } from "./Latencies.ts"

/** A tally for another process. */
export interface TallyJson {
  readonly statuses: ReadonlyArray<readonly [status: number, count: number]>
  readonly bytes: number
  /** The sum of all durations. */
  readonly millis: number
  readonly latencies: ReadonlyArray<number>
}

/** Counts of requests: by status, and of their durations and bytes. */
export class Tally {
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
