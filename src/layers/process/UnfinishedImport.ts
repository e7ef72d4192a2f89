import { Effect } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { type DataDir } from "./DataDir.ts"
import { attempt, StartError } from "./StartError.ts"
import { readStored, writeStored } from "./StoredFile.ts"

/** `import.json` in a data directory: an import into this installation that is not complete. */
interface Unfinished {
  /** The id of the archive. */
  readonly archive: string
  /** Objects that are in the store. */
  readonly objects: number
}

const markFile = (path: string) => join(path, "import.json")

export const readUnfinished = (path: string) => readStored<Unfinished>(markFile(path))

export const writeUnfinished = (dir: DataDir["Service"], unfinished: Unfinished) =>
  writeStored(markFile(dir.path), unfinished, dir.owner)

export const endUnfinished = (path: string) => attempt(`Failed to remove ${markFile(path)}`, () => rm(markFile(path)))

/** Fails while an import is not complete: the service must not run on a part of an installation. */
export const refuseUnfinished = Effect.fnUntraced(function* (path: string) {
  if ((yield* readUnfinished(path)) === undefined) return
  return yield* new StartError({
    message: `An import into ${path} (SVC_DATA_DIR) is not complete: run svc import again with the same archive, or begin with an empty directory, database and store`
  })
})
