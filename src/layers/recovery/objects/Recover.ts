import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { changesFrom, objectsAt, rowsPage, type ObjectsThen } from "../../../domain/recovery/Objects.ts"
import { type DataDir } from "../../process/DataDir.ts"
import { requireSpace } from "../../process/FreeSpace.ts"
import { syncDirectory } from "../../process/StoredFile.ts"
import { attempt } from "../../process/StartError.ts"
import { makeStoreImport } from "../../storage/endpoint/store/StoreImport.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"
import { listPieces, listRows, parseLines } from "./Files.ts"
import { partReader, readPlaced } from "./Reader.ts"

/** The objects as of a time, in ms since 1970; undefined if the archive has none of then. */
export const findObjects = Effect.fnUntraced(function* (archive: Archive, time: number) {
  const { complete } = yield* listRows(archive)
  const pieces = yield* listPieces(archive)
  const state = objectsAt(complete, pieces, time)
  const ends = pieces.flatMap((piece) => (piece.store === state?.rows.store ? [piece.to] : []))
  const earliest = complete.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY)
  return { state, earliest, sequence: ends.reduce((most, to) => Math.max(most, to), state?.rows.to ?? 0) }
})

/** Places of blobs that are read at once, in the order of their packs. */
const batch = 500

/**
 * Writes the objects of a state beside the place that they have in a data directory; the effect that it gives moves them there.
 * `besides`: bytes that must stay free; `report`: the objects' bytes so far.
 */
export const recoverObjects = Effect.fnUntraced(function* (
  archive: Archive,
  { pieces, rows }: ObjectsThen,
  time: number,
  sequence: number,
  dir: DataDir["Service"],
  besides: number,
  report: (bytes: number) => void
) {
  const [target, working] = [join(dir.path, "objects"), join(dir.path, "objects.recovering")]
  // An earlier run that was interrupted begins again.
  yield* Effect.promise(() => rm(working, { recursive: true, force: true }))
  yield* Effect.gen(function* () {
    const index = yield* makeStoreImport(working, dir.owner)
    yield* index.begin(archive.info.id, randomBytes(6).toString("hex"))
    for (let page = 1; page <= rows.pages; page++) {
      yield* index.changes(parseLines(yield* archive.get(rowsPage(rows.store, rows.id, page))))
    }
    for (const { name } of changesFrom(pieces, rows.from)) {
      const lines = parseLines(yield* archive.get(name))
      yield* index.changes(lines.filter(({ at = 0 }) => at <= time))
    }
    yield* index.endChanges(sequence)
    yield* requireSpace("The recovery", dir.path, (yield* index.size) + besides, "Nothing was recovered")
    const partOf = partReader(archive)
    let done = 0
    for (let places = yield* index.places(undefined, batch); places.length > 0;) {
      for (const place of places) {
        const whole = yield* index.blob(place, (write) =>
          readPlaced(place, partOf, (bytes) => {
            report((done += bytes.length))
            return write(bytes)
          })
        )
        if (!whole) return yield* new ArchiveTrouble({ reason: `Pack ${place.pack} in ${archive.place} is incomplete` })
      }
      yield* index.commit
      places = yield* index.places(places.at(-1), batch)
    }
    return undefined
  }).pipe(Effect.scoped)
  return attempt(`Failed to create ${target}`, async () => {
    await rename(working, target)
    await syncDirectory(dir.path)
  })
})
