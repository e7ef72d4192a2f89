import { closeSync, openSync } from "node:fs"
import { chown } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import { attempt, startError } from "./StartError.ts"
import { Effect } from "effect"

/** A user and group by number. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Gives it back; it is also given back by the operating system, however the process ends. */
export interface FileLock {
  readonly release: () => void
}

/**
 * Takes the lock on a file, or says `undefined` when another process (or this one) has it.
 *
 * Node has no flock, but SQLite's exclusive lock on an empty database is the operating system's own file lock: it ends
 * with its process even on kill -9, knows neither stale locks nor reused pids, and holds between containers that share
 * a volume. Nobody may open this file otherwise: closing any descriptor of a file drops the process's locks on it.
 */
export const takeFileLock = Effect.fnUntraced(function* (path: string, owner: Owner | undefined) {
  if (create(path) && owner !== undefined)
    yield* attempt(`${path} can't be given to its owner`, () => chown(path, owner.uid, owner.gid))
  return yield* Effect.try({
    try: () => lock(path),
    catch: (cause) =>
      startError(
        `${path} can't be locked`,
        /unable to open|readonly/.test(String(cause)) ? "permission denied, is it another user's?" : cause
      )
  })
})

/** Only when it is not there, so that it is never opened while locked. */
const create = (path: string): boolean => {
  try {
    closeSync(openSync(path, "ax", 0o600))
    return true
  } catch {
    return false // there already, or not allowed: then locking says so
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
