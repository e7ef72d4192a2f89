import { createHash } from "node:crypto"
import { SlidingWindow, type WindowResult } from "./SlidingWindow.ts"

/** The windows in which calls are counted; the position is the number in a record. */
const windowNames = ["api-keys", "second-factors", "passkeys", "recoveries", "recovery-addresses"] as const
export type WindowName = (typeof windowNames)[number]

export const recordBytes = 32

/** One event of the log. `writer` and `sequence` identify it, so that a process recognises its own. */
export type CountRecord = { readonly writer: number; readonly sequence: number } & (
  | {
      readonly kind: "take"
      readonly window: WindowName
      readonly key: number
      readonly limit: number
      readonly now: number
    }
  | { readonly kind: "enter"; readonly limit: number }
  /** `of`: the writer whose place, or with `gone` whose places, are given back. */
  | { readonly kind: "leave" }
  | { readonly kind: "gone"; readonly of: number }
  /** The log continues in its other file. */
  | { readonly kind: "end" }
)

const kinds = ["take", "enter", "leave", "gone", "end"] as const

export const writeRecord = (record: CountRecord, into: Buffer): void => {
  into.writeUInt8(kinds.indexOf(record.kind), 0)
  into.writeUInt8(record.kind === "take" ? windowNames.indexOf(record.window) : 0, 1)
  into.writeUInt32LE(record.writer, 4)
  into.writeUInt32LE(record.sequence, 8)
  into.writeUInt32LE("limit" in record ? record.limit : 0, 12)
  into.writeDoubleLE(record.kind === "take" ? record.key : record.kind === "gone" ? record.of : 0, 16)
  into.writeDoubleLE(record.kind === "take" ? record.now : 0, 24)
}

export const readRecord = (from: Buffer, at: number): CountRecord => {
  const kind = kinds[from.readUInt8(at)] ?? "end"
  const [writer, sequence, limit] = [from.readUInt32LE(at + 4), from.readUInt32LE(at + 8), from.readUInt32LE(at + 12)]
  const key = from.readDoubleLE(at + 16)
  if (kind === "take") {
    const window = windowNames[from.readUInt8(at + 1)] ?? "api-keys"
    return { kind, writer, sequence, limit, window, key, now: from.readDoubleLE(at + 24) }
  }
  if (kind === "enter") return { kind, writer, sequence, limit }
  return kind === "gone" ? { kind, writer, sequence, of: key } : { kind, writer, sequence }
}

/** A key of a window as a number. Two texts have the same one with a probability of 1 in 2^48. */
export const keyNumber = (key: number | string): number =>
  typeof key === "number" ? key : createHash("sha256").update(key).digest().readUIntBE(0, 6)

/** All counts at one position of the log, as plain values. */
export interface CountSnapshot {
  readonly windows: ReadonlyArray<ReturnType<SlidingWindow["snapshot"]>>
  readonly places: ReadonlyMap<number, number>
}

/**
 * What a log of counts adds up to. Every process that reads the same records computes the same counts, and so the same
 * outcome of each record: the order of the log decides, not a process.
 */
export class CountState {
  private readonly windows: ReadonlyArray<SlidingWindow>
  private readonly places: Map<number, number>

  constructor(from?: CountSnapshot) {
    this.windows = windowNames.map((_, index) => SlidingWindow.of(from?.windows[index]))
    this.places = new Map(from?.places)
  }

  snapshot(): CountSnapshot {
    return { windows: this.windows.map((window) => window.snapshot()), places: this.places }
  }

  /** Places of all writers. */
  get taken(): number {
    let all = 0
    for (const count of this.places.values()) all += count
    return all
  }

  blockedSeconds(window: WindowName, key: number, limit: number, now: number): number {
    return (this.windows[windowNames.indexOf(window)] as SlidingWindow).blockedSeconds(key, limit, now)
  }

  /** The outcome of a call, or whether a place was taken; true for any other record. */
  apply(record: CountRecord): WindowResult | boolean {
    const { kind, writer } = record
    if (kind === "take") {
      const window = this.windows[windowNames.indexOf(record.window)] as SlidingWindow
      return window.take(record.key, record.limit, record.now)
    }
    if (kind === "enter") {
      if (this.taken >= record.limit) return false
      this.places.set(writer, (this.places.get(writer) ?? 0) + 1)
    } else if (kind === "leave") this.places.set(writer, (this.places.get(writer) ?? 0) - 1)
    else if (kind === "gone") this.places.delete(record.of)
    return true
  }
}
