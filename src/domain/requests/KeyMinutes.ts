import type { KeyCounts } from "./Request.ts"

const minuteMillis = 60_000
/** Minutes that are kept, the current one included. */
const kept = 60
/** Keys that are counted, at 1 KB each: others are not, until one of these has been unused for an hour. */
const maxKeys = 4096

/** The counts of one key: requests, refused and errors of each minute, in a ring of the last hour. */
interface Ring {
  readonly minutes: Int32Array
  readonly counts: Uint32Array
  last: number
}

/** Counts of the last hour by API key. A request costs a look-up and no object. */
export class KeyMinutes {
  private readonly rings = new Map<number, Ring>()

  /** `at`: when it ended, in ms since 1970. */
  add(at: number, keyId: number, status: number): void {
    const minute = Math.floor(at / minuteMillis)
    const ring = this.rings.get(keyId) ?? this.make(keyId, minute)
    if (ring === undefined) return
    const slot = minute % kept
    if (ring.minutes[slot] !== minute) {
      ring.minutes[slot] = minute
      ring.counts.fill(0, slot * 3, slot * 3 + 3)
    }
    ring.last = minute
    const first = slot * 3
    ring.counts[first] = (ring.counts[first] ?? 0) + 1
    const also = status >= 500 ? first + 2 : status >= 400 ? first + 1 : -1
    if (also > 0) ring.counts[also] = (ring.counts[also] ?? 0) + 1
  }

  private make(keyId: number, minute: number): Ring | undefined {
    if (this.rings.size >= maxKeys) {
      const idle = Array.from(this.rings).find(([, { last }]) => last <= minute - kept)
      if (idle === undefined) return undefined
      this.rings.delete(idle[0])
    }
    const ring = { minutes: new Int32Array(kept).fill(-1), counts: new Uint32Array(kept * 3), last: minute }
    this.rings.set(keyId, ring)
    return ring
  }

  counted(now: number): ReadonlyArray<KeyCounts> {
    const current = Math.floor(now / minuteMillis)
    return Array.from(this.rings, ([key_id, { counts, minutes }]) => {
      const sums = [0, 0, 0]
      for (const [slot, minute] of minutes.entries()) {
        if (minute <= current - kept || minute > current) continue
        for (let i = 0; i < 3; i++) sums[i] = (sums[i] ?? 0) + (counts[slot * 3 + i] ?? 0)
      }
      const [requests = 0, refused = 0, errors = 0] = sums
      return { key_id, requests, refused, errors }
    }).filter(({ requests }) => requests > 0)
  }
}

/** The sum of what some processes have counted, the most requested first. */
export const keyCountsOf = (processes: ReadonlyArray<ReadonlyArray<KeyCounts>>): ReadonlyArray<KeyCounts> => {
  const all = new Map<number, KeyCounts>()
  for (const one of processes.flat()) {
    const { key_id } = one
    const before = all.get(key_id) ?? { requests: 0, refused: 0, errors: 0 }
    all.set(key_id, {
      key_id,
      requests: before.requests + one.requests,
      refused: before.refused + one.refused,
      errors: before.errors + one.errors
    })
  }
  return Array.from(all.values()).sort((a, b) => b.requests - a.requests || a.key_id - b.key_id)
}
