/** Bounds of the counts: each is 15% above the one before, from 0.1 ms to 10 minutes. */
const [least, growth, size] = [0.1, 1.15, 114]
const perStep = 1 / Math.log(growth)

/** Every fifth of the bounds, which is twice the one before, from 0.8 ms to 14 s. */
const coarse = Array.from({ length: 15 }, (_, nth) => 15 + 5 * nth)

/** Counts of durations in ms, from which percentiles are read with an error of at most 15%. */
export class Latencies {
  /** The bounds of `upToBounds`, in seconds. */
  static readonly bounds: ReadonlyArray<number> = coarse.map((at) =>
    Number(((least / 1000) * growth ** at).toPrecision(4))
  )

  private readonly counts = new Uint32Array(size)
  private total = 0

  add(millis: number): void {
    this.addTo(millis <= least ? 0 : Math.min(size - 1, Math.ceil(Math.log(millis / least) * perStep)), 1)
  }

  merge(other: ReadonlyArray<number> | Latencies): void {
    const counts = other instanceof Latencies ? other.counts : other
    for (let at = 0; at < counts.length; at++) this.addTo(at, counts[at] ?? 0)
  }

  /** The duration that this part of all (0 to 1) did not exceed, in ms; null if there are none. */
  percentile(part: number): number | null {
    if (this.total === 0) return null
    let left = Math.ceil(part * this.total)
    for (const [at, count] of this.counts.entries()) {
      left -= count
      if (left <= 0) return Number((least * growth ** at).toPrecision(3))
    }
    return null
  }

  /** How many durations each of `Latencies.bounds` was not exceeded by, and all. */
  get upToBounds(): { readonly counts: ReadonlyArray<number>; readonly count: number } {
    const counts: Array<number> = []
    let [upTo, from] = [0, 0]
    for (const bound of coarse) {
      for (; from <= bound; from++) upTo += this.counts[from] ?? 0
      counts.push(upTo)
    }
    return { counts, count: this.total }
  }

  /** The counts for another process, up to the last that is not 0. */
  toJSON(): ReadonlyArray<number> {
    const last = this.counts.findLastIndex((count) => count > 0)
    return Array.from(this.counts.subarray(0, last + 1))
  }

  private addTo(at: number, count: number) {
    if (at >= size) return
    this.counts[at] = (this.counts[at] ?? 0) + count
    this.total += count
  }
}
