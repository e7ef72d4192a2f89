/** Length of the window, in milliseconds. */
export const windowMillis = 60_000

/** The outcome of one call. */
export interface WindowResult {
  readonly allowed: boolean
  /** Calls allowed in any 60 seconds. */
  readonly limit: number
  /** Calls left after this one. */
  readonly remaining: number
  /** Whole seconds, at least 1: when refused, until a call is allowed again; else until `remaining` next grows. */
  readonly resetSeconds: number
}

/**
 * The calls of one key in the last 60 seconds, oldest first, as (millisecond, calls in it) pairs in a ring.
 * Exact, and never more than 60,000 pairs (0.7 MB) however high the limit is.
 */
class Calls {
  private times = new Float64Array(8)
  private counts = new Uint32Array(8)
  private head = 0
  private size = 0
  total = 0
  /** Time of the latest call, in milliseconds. */
  latest = Number.NEGATIVE_INFINITY

  add(now: number, calls = 1): void {
    const last = this.at(this.size - 1)
    if (this.size > 0 && this.times[last] === now) {
      this.counts[last] = (this.counts[last] ?? 0) + calls
    } else {
      if (this.size === this.times.length) this.resize(this.size * 2)
      const next = this.at(this.size)
      this.times[next] = now
      this.counts[next] = calls
      this.size += 1
    }
    this.total += calls
    this.latest = now
  }

  /** Removes calls that are 60 seconds old or older. */
  expire(now: number): void {
    while (this.size > 0 && (this.times[this.head] ?? 0) <= now - windowMillis) {
      this.total -= this.counts[this.head] ?? 0
      this.head = this.at(1)
      this.size -= 1
    }
    if (this.times.length > 8 && this.size < this.times.length / 4) this.resize(this.times.length / 2)
  }

  /**
   * The time at which the `calls` oldest calls will have left the window, in milliseconds. Needs 1 <= calls <= total.
   */
  leavesAt(calls: number): number {
    let left = calls
    let index = 0
    while (index < this.size - 1) {
      left -= this.counts[this.at(index)] ?? 0
      if (left <= 0) break
      index += 1
    }
    return (this.times[this.at(index)] ?? 0) + windowMillis
  }

  pairs(): ReadonlyArray<readonly [time: number, calls: number]> {
    return Array.from({ length: this.size }, (_, index) => {
      const at = this.at(index)
      return [this.times[at] ?? 0, this.counts[at] ?? 0]
    })
  }

  /** Capacities are powers of two, so that a mask wraps the index. */
  private at(index: number): number {
    return (this.head + index) & (this.times.length - 1)
  }

  private resize(capacity: number): void {
    const times = new Float64Array(capacity)
    const counts = new Uint32Array(capacity)
    for (let i = 0; i < this.size; i++) {
      const from = this.at(i)
      times[i] = this.times[from] ?? 0
      counts[i] = this.counts[from] ?? 0
    }
    this.times = times
    this.counts = counts
    this.head = 0
  }
}

/**
 * Calls per key in the last 60 seconds. Synchronous, with no effects but on its own memory. A call costs O(1) amortised;
 * a key without calls for 60 seconds is removed at the first call after that minute.
 */
export class SlidingWindow<Key = number> {
  private readonly keys = new Map<Key, Calls>()
  private now = Number.NEGATIVE_INFINITY
  private sweptAt = Number.NEGATIVE_INFINITY

  /**
   * Counts one call of a key unless the limit is reached; refused calls do not count. `now` in milliseconds of a clock
   * that never goes back (a step back counts as no time passed); `limit` is at least 1 and may change between calls.
   */
  take(key: Key, limit: number, now: number): WindowResult {
    this.now = Math.max(this.now, Math.floor(now))
    if (this.now - this.sweptAt >= windowMillis) this.sweep()
    let calls = this.keys.get(key)
    if (calls === undefined) {
      calls = new Calls()
      this.keys.set(key, calls)
    }
    calls.expire(this.now)
    const allowed = calls.total < limit
    if (allowed) calls.add(this.now)
    // A lowered limit may allow fewer calls than there are.
    const freed = calls.leavesAt(allowed ? 1 : calls.total - limit + 1)
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - calls.total),
      resetSeconds: Math.max(1, Math.ceil((freed - this.now) / 1000))
    }
  }

  /** Whole seconds until a key at its limit is below it; 0 when a call would be allowed now. Counts nothing. */
  blockedSeconds(key: Key, limit: number, now: number): number {
    const calls = this.keys.get(key)
    if (calls === undefined) return 0
    this.now = Math.max(this.now, Math.floor(now))
    calls.expire(this.now)
    if (calls.total < limit) return 0
    return Math.max(1, Math.ceil((calls.leavesAt(calls.total - limit + 1) - this.now) / 1000))
  }

  /** All calls as plain values, from which `of` makes an equal window. */
  snapshot() {
    return { now: this.now, keys: Array.from(this.keys, ([key, calls]) => [key, calls.pairs()] as const) }
  }

  static of<Key>(snapshot?: ReturnType<SlidingWindow<Key>["snapshot"]>): SlidingWindow<Key> {
    const window = new SlidingWindow<Key>()
    if (snapshot === undefined) return window
    window.now = snapshot.now
    for (const [key, pairs] of snapshot.keys) {
      const calls = new Calls()
      for (const [time, count] of pairs) calls.add(time, count)
      window.keys.set(key, calls)
    }
    return window
  }

  /** The number of keys in memory. */
  get size(): number {
    return this.keys.size
  }

  private sweep(): void {
    this.sweptAt = this.now
    for (const [key, calls] of this.keys) if (calls.latest <= this.now - windowMillis) this.keys.delete(key)
  }
}
