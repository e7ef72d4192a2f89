import { createHash } from "node:crypto"
import { SlidingWindow, type WindowResult } from "./SlidingWindow.ts"

/** How many places there are, and how many of them one client may have. */
export interface PlaceLimits {
  readonly all: number
  readonly client: number
}

/** Whether a place was taken, or what it is that prevents it. */
export type Place = "taken" | "full" | "client"

/** The places that writers have taken for their clients: writer, client, count. */
type PlaceSnapshot = ReadonlyMap<number, ReadonlyMap<number, number>>

/** Places that are taken for a while, counted for each writer, so that those of one that ends are free again. */
export class PlaceCounts {
  private readonly byWriter = new Map<number, Map<number, number>>()
  private readonly byClient = new Map<number, number>()
  private all = 0

  constructor(from?: PlaceSnapshot) {
    for (const [writer, clients] of from ?? []) for (const [client, count] of clients) this.add(writer, client, count)
  }

  get snapshot(): PlaceSnapshot {
    return this.byWriter
  }

  get taken(): number {
    return this.all
  }

  enter(writer: number, client: number, limits: PlaceLimits): Place {
    if (this.all >= limits.all) return "full"
    if ((this.byClient.get(client) ?? 0) >= limits.client) return "client"
    this.add(writer, client, 1)
    return "taken"
  }

  leave(writer: number, client: number): void {
    this.add(writer, client, -1)
  }

  /** Gives back all places of a writer. */
  gone(writer: number): void {
    for (const [client, count] of this.byWriter.get(writer) ?? []) this.add(writer, client, -count)
  }

  private add(writer: number, client: number, count: number) {
    const clients = this.byWriter.get(writer) ?? new Map<number, number>()
    this.byWriter.set(writer, clients)
    this.all += count
    for (const counts of [clients, this.byClient]) {
      const now = (counts.get(client) ?? 0) + count
      if (now === 0) counts.delete(client)
      else counts.set(client, now)
    }
    if (clients.size === 0) this.byWriter.delete(writer)
  }
}

/** The windows in which calls are counted; the position is the number in a record. */
const windowNames = [
  "api-keys",
  "second-factors",
  "passkeys",
  "recoveries",
  "recovery-addresses",
  "dashboard",
  "authorizations",
  "mcp-users"
] as const
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
  /** A place for a client, of `limit` places, of which the client may have `clientLimit`. */
  | { readonly kind: "enter"; readonly key: number; readonly limit: number; readonly clientLimit: number }
  | { readonly kind: "leave"; readonly key: number }
  /** All places of the writer `of` are given back. */
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
  into.writeDoubleLE("key" in record ? record.key : record.kind === "gone" ? record.of : 0, 16)
  into.writeDoubleLE(record.kind === "take" ? record.now : record.kind === "enter" ? record.clientLimit : 0, 24)
}

export const readRecord = (from: Buffer, at: number): CountRecord => {
  const kind = kinds[from.readUInt8(at)] ?? "end"
  const [writer, sequence, limit] = [from.readUInt32LE(at + 4), from.readUInt32LE(at + 8), from.readUInt32LE(at + 12)]
  const key = from.readDoubleLE(at + 16)
  if (kind === "take") {
    const window = windowNames[from.readUInt8(at + 1)] ?? "api-keys"
    return { kind, writer, sequence, limit, window, key, now: from.readDoubleLE(at + 24) }
  }
  if (kind === "enter") return { kind, writer, sequence, limit, key, clientLimit: from.readDoubleLE(at + 24) }
  if (kind === "leave") return { kind, writer, sequence, key }
  return kind === "gone" ? { kind, writer, sequence, of: key } : { kind, writer, sequence }
}

/** A key of a window as a number. Two texts have the same one with a probability of 1 in 2^48. */
export const keyNumber = (key: number | string): number =>
  typeof key === "number" ? key : createHash("sha256").update(key).digest().readUIntBE(0, 6)

/** All counts at one position of the log, as plain values. */
export interface CountSnapshot {
  readonly windows: ReadonlyArray<ReturnType<SlidingWindow["snapshot"]>>
  readonly places: PlaceSnapshot
}

/**
 * The sum of a log of counts. Every process that reads the same records computes the same counts, and so the same
 * outcome of each record: the order of the log decides, not a process.
 */
export class CountState {
  private readonly windows: ReadonlyArray<SlidingWindow>
  private readonly places: PlaceCounts

  constructor(from?: CountSnapshot) {
    this.windows = windowNames.map((_, index) => SlidingWindow.of(from?.windows[index]))
    this.places = new PlaceCounts(from?.places)
  }

  snapshot(): CountSnapshot {
    return { windows: this.windows.map((window) => window.snapshot()), places: this.places.snapshot }
  }

  /** Places of all writers. */
  get taken(): number {
    return this.places.taken
  }

  blockedSeconds(window: WindowName, key: number, limit: number, now: number): number {
    return (this.windows[windowNames.indexOf(window)] as SlidingWindow).blockedSeconds(key, limit, now)
  }

  /** The outcome of a call or of taking a place; true for any other record. */
  apply(record: CountRecord): WindowResult | Place | true {
    const { kind, writer } = record
    if (kind === "take") {
      const window = this.windows[windowNames.indexOf(record.window)] as SlidingWindow
      return window.take(record.key, record.limit, record.now)
    }
    if (kind === "enter") {
      return this.places.enter(writer, record.key, { all: record.limit, client: record.clientLimit })
    }
    if (kind === "leave") this.places.leave(writer, record.key)
    else if (kind === "gone") this.places.gone(record.of)
    return true
  }
}
