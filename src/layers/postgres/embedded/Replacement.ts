import { Effect } from "effect"
import { existsSync } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type DataDir } from "../../process/DataDir.ts"
import { attempt } from "../../process/StartError.ts"
import { readStored, syncDirectory, writeStored } from "../../process/StoredFile.ts"

/** `upgrade.json` in a data directory: a cluster that takes the place of another one. Two renames are not atomic. */
interface Replacement {
  /** The cluster's directory, without symbolic links. */
  readonly cluster: string
  /** Where the cluster is kept that has been there. */
  readonly kept: string
  /** Where the cluster is that takes its place. */
  readonly made: string
  /** The archive of the cluster that has been there, and where that is kept. */
  readonly archive: { readonly place: string; readonly kept: string } | undefined
}

const recordFile = (dir: DataDir["Service"]) => join(dir.path, "upgrade.json")

const moved = async (from: string, to: string) => {
  if (!existsSync(from) || existsSync(to)) return
  await rename(from, to)
  await syncDirectory(dirname(to))
}

/** Finishes a replacement that was begun, also by a process that was killed. */
export const finishReplacement = Effect.fnUntraced(function* (dir: DataDir["Service"]) {
  const found = yield* readStored<Replacement>(recordFile(dir))
  if (found === undefined) return
  const { archive, cluster, kept, made } = found
  const what = `Failed to put ${made} in the place of ${cluster}`
  // Only the first rename can fail because of the place, such as a mount point; nothing has changed then.
  yield* attempt(what, () => moved(cluster, kept)).pipe(
    Effect.tapError(() => Effect.promise(() => (existsSync(kept) ? Promise.resolve() : rm(recordFile(dir)))))
  )
  yield* attempt(what, () => moved(made, cluster))
  if (archive !== undefined) {
    yield* attempt(`The archive in ${archive.place} is that of the old cluster, and could not be renamed`, () =>
      moved(archive.place, archive.kept)
    ).pipe(
      Effect.catch(({ message }) =>
        Effect.logWarning(`${message}. Set another SVC_PITR_DIR, and keep this one until it is not needed`)
      )
    )
  }
  yield* attempt(what, () => rm(recordFile(dir)))
})

/** Puts a cluster in the place of another one, which is kept. After a crash, the next start does it. */
export const replaceCluster = (dir: DataDir["Service"], replacement: Replacement) =>
  Effect.andThen(writeStored(recordFile(dir), replacement, dir.owner), finishReplacement(dir))
