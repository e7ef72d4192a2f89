import { closeSync, openSync } from "node:fs"
import { chown } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import { attempt, startError } from "./StartError.ts"
import { Effect } from "effect"

/** A user and group by number. */
export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/** The operating system also releases the lock when the process ends in any way. */
export interface FileLock {
  readonly release: () => void
}

/**
 * Takes the lock on a file; gives `undefined` if another process, or this one, has it.
 *
 * Node has no flock, but SQLite's exclusive lock on an empty database is the operating system's own file lock: it ends
 * with its process even on kill -9, has no stale locks or reused pids, and works between containers that share a volume.
 * The file must not be opened in any other way: closing any descriptor of a file drops the process's locks on it.
 */
export const takeFileLock = Effect.fnUntraced(function* (path: string, owner: FileOwner | undefined) {
  if (create(path) && owner !== undefined)
    yield* attempt(`Failed to change the owner of ${path}`, () => chown(path, owner.uid, owner.gid))
  return yield* Effect.try({
    try: () => lock(path),
    catch: (cause) =>
      startError(
        `Failed to lock ${path}`,
        /unable to open|readonly/.test(String(cause)) ? "permission denied; the file may belong to another user" : cause
      )
  })
})

/** Creates the file if it does not exist, so that it is never opened while locked. */
const create = (path: string): boolean => {
  try {
    closeSync(openSync(path, "ax", 0o600))
    return true
  } catch {
    return false // exists, or is not allowed, which locking then reports
  }
}

const lock = (path: string): FileLock | undefined => {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
  } catch (cause) {
    database.close()
    if (String(cause).includes("is locked")) return undefined
    throw cause
  }
  return { release: () => database.close() }
}
