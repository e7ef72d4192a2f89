import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { ownPackBytes, packName, packPart, packPartBytes } from "../../../domain/recovery/Objects.ts"
import { type StoreJournal } from "../../storage/endpoint/store/Model.ts"
import type { BlobPlace, JournalBlobs, PlacedBlob, Segment } from "../../storage/endpoint/store/worker/Rows.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"

/** The store does not have a blob any more that an older change names: the archive has to begin again. */
export class BlobGone extends Error {
  override readonly name = "BlobGone"
}

/** Reads a stream into buffers of `packPartBytes`; the last one may be shorter. */
async function* inParts(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafe(packPartBytes)
  let filled = 0
  for await (const bytes of source) {
    for (let from = 0; from < bytes.length;) {
      const taken = Math.min(packPartBytes - filled, bytes.length - from)
      part.set(bytes.subarray(from, from + taken), filled)
      filled += taken
      from += taken
      if (filled < packPartBytes) continue
      yield part
      part = Buffer.allocUnsafe(packPartBytes)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

/**
 * Puts blobs of a store into packs: a large one into its own, which goes on where it was interrupted, and many small ones into
 * one. `flush` returns when all that were added are in the archive.
 */
export const makePackWriter = (archive: Archive, journal: StoreJournal, store: string) => {
  let waiting: Array<Omit<PlacedBlob, "pack">> = []
  let parts: Array<Uint8Array> = []
  let size = 0
  /** Places that are in the archive, but not yet remembered by the store. */
  let placed = new Map<string, PlacedBlob>()

  const finishPack = Effect.fnUntraced(function* (position: number) {
    if (waiting.length === 0) return
    const pack = packName({ store, position, size }, randomBytes(6).toString("hex"))
    yield* archive.put(packPart(pack, 1), Buffer.concat(parts))
    for (const blob of waiting) placed.set(blob.blob, { ...blob, pack })
    waiting = []
    parts = []
    size = 0
  })

  const read = (blob: string, size: number) =>
    Effect.mapError(journal.blob(blob, size), () => new BlobGone(`The store lacks blob ${blob}`))

  const writeLarge = Effect.fnUntraced(function* (
    blob: string,
    size: number,
    begun: BlobPlace | undefined,
    position: number
  ) {
    const pack = begun?.pack ?? packName({ store, position, size }, randomBytes(6).toString("hex"))
    let there = 0
    if (begun === undefined) yield* journal.place([{ blob, pack, size, start: null }])
    else {
      const names = new Set(yield* archive.list(packPart(pack, 0).slice(0, -6)))
      while (names.has(packPart(pack, there + 1))) there++
    }
    const source = yield* read(blob, size)
    let part = 0
    const iterator = inParts(source as AsyncIterable<Uint8Array>)
    yield* Effect.addFinalizer(() => Effect.promise(() => iterator.return(undefined)))
    for (;;) {
      const next = yield* Effect.tryPromise({
        try: () => iterator.next(),
        catch: (cause) => new ArchiveTrouble({ reason: `Failed to read an object: ${String(cause)}` })
      })
      if (next.done === true) break
      if (++part > there) yield* archive.put(packPart(pack, part), next.value)
    }
    placed.set(blob, { blob, pack, size, start: 0 })
  }, Effect.scoped)

  const writeSmall = Effect.fnUntraced(function* (blob: string, length: number, bytes: Uint8Array | undefined) {
    const chunks: Array<Uint8Array> = []
    if (bytes !== undefined) chunks.push(bytes)
    else {
      const source = yield* read(blob, length)
      yield* Effect.tryPromise({
        try: async () => {
          for await (const chunk of source as AsyncIterable<Uint8Array>) chunks.push(chunk)
        },
        catch: (cause) => new ArchiveTrouble({ reason: `Failed to read an object: ${String(cause)}` })
      })
    }
    waiting.push({ blob, start: size, size: length })
    parts.push(...chunks)
    size += length
  }, Effect.scoped)

  return {
    /** Adds the blobs of segments that have no place yet, at a position of the journal. */
    add: Effect.fnUntraced(function* (segments: ReadonlyArray<Segment>, blobs: JournalBlobs, position: number) {
      for (const [blob, length] of segments) {
        const known = blobs.places.get(blob)
        if (length === 0 || placed.has(blob) || (known !== undefined && known.start !== null)) continue
        if (waiting.some((one) => one.blob === blob)) continue
        const bytes = blobs.small.get(blob)
        if (bytes === undefined && blob.startsWith("#")) {
          return yield* Effect.fail(new BlobGone(`The store lacks blob ${blob}`))
        }
        if (length >= ownPackBytes) yield* writeLarge(blob, length, known, position)
        else yield* writeSmall(blob, length, bytes)
        if (size >= packPartBytes - ownPackBytes) yield* finishPack(position)
      }
      return undefined
    }),

    flush: (position: number) => finishPack(position),

    /** The place of a blob that was added and flushed, or had one before. */
    placeOf: (blob: string, blobs: JournalBlobs): BlobPlace | undefined => placed.get(blob) ?? blobs.places.get(blob),

    /** Has the store remember the places. Only when rows or changes that name them are in the archive may it forget changes. */
    remember: Effect.suspend(() => {
      const all = [...placed.values()]
      return Effect.andThen(
        all.length === 0 ? Effect.void : journal.place(all),
        Effect.sync(() => (placed = new Map()))
      )
    })
  }
}
