import { Effect } from "effect"
import { type BlobFiles } from "./Files.ts"
import { type StoreIndex } from "../Index.ts"

/** Files asked about at once. */
const batch = 1000

/** Deletes what earlier starts have left: temporary files, and blobs that the index does not know. */
export const sweep = (index: StoreIndex, files: BlobFiles): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.promise(() => files.discardTemporary())
    for (const directory of yield* Effect.promise(() => files.directoryNames())) {
      const older = yield* Effect.promise(() => files.olderBlobs(directory))
      for (let at = 0; at < older.length; at += batch)
        files.free(yield* index.read("unreferenced", [older.slice(at, at + batch)]))
    }
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("Files left from earlier could not be deleted", cause)))
