import { Effect } from "effect"
import { type FileOwner } from "../../../process/FileLock.ts"
import { attempt, type StartError } from "../../../process/StartError.ts"
import { BlobFiles } from "./blobs/Files.ts"
import { openIndex } from "./Index.ts"
import type { ImportedBlob, ImportedChange } from "./worker/Import.ts"
import type { PlacedBlob } from "./worker/Rows.ts"

/** Makes a store in an empty directory out of an archive. The blobs keep their ids. */
export const makeStoreImport = Effect.fnUntraced(function* (directory: string, owner: FileOwner | undefined) {
  const files = yield* BlobFiles.open(directory, owner)
  const index = yield* openIndex(files, owner, { enabled: false })
  let ready: Array<ImportedBlob> = []

  return {
    begin: (archive: string, store: string) => Effect.orDie(index.write("beginArchive", [archive, store])),

    /** Applies rows or changes in order. */
    changes: Effect.fnUntraced(function* (changes: ReadonlyArray<ImportedChange>) {
      for (let at = 0; at < changes.length; at += 1000) {
        yield* Effect.orDie(index.write("importChanges", [changes.slice(at, at + 1000)]))
      }
    }),

    endChanges: (sequence: number) => Effect.orDie(index.write("endChanges", [sequence])),

    /** Bytes of the blobs that objects need. */
    size: Effect.suspend(() => Effect.orDie(index.read("sizeOfPlaces", []))),

    /** A page of the blobs that objects need, in the order of their packs. */
    places: (after: PlacedBlob | undefined, limit: number) => Effect.orDie(index.read("placesAfter", [after, limit])),

    /** Stores a blob, which `fill` writes in pieces; it counts after `commit`. */
    blob: <A, E, R>(
      { blob }: PlacedBlob,
      fill: (write: (bytes: Uint8Array) => Effect.Effect<void, StartError>) => Effect.Effect<A, E, R>
    ) =>
      Effect.gen(function* () {
        if (blob.startsWith("#")) {
          const pieces: Array<Uint8Array> = []
          const filled = yield* fill((bytes) => Effect.sync(() => void pieces.push(bytes)))
          ready.push({ id: blob, bytes: new Uint8Array(Buffer.concat(pieces)) })
          return filled
        }
        const handle = yield* Effect.acquireRelease(
          attempt(`Failed to write ${blob}`, () => files.create(blob)),
          (handle) => Effect.promise(() => handle.close().catch(() => undefined))
        )
        const filled = yield* fill((bytes) => attempt(`Failed to write ${blob}`, () => handle.writeFile(bytes)))
        yield* attempt(`Failed to write ${blob}`, async () => {
          await handle.sync()
          await handle.close()
          await files.place(blob)
        })
        ready.push({ id: blob, bytes: undefined })
        return filled
      }).pipe(Effect.scoped),

    commit: Effect.suspend(() => {
      const blobs = ready
      ready = []
      return Effect.orDie(index.write("importBlobs", [blobs]))
    })
  }
})
