import { Clock, Effect } from "effect"
import { type BackupId, globalsFile } from "../../domain/backups/Backup.ts"
import { Conflict, Unavailable } from "../../domain/errors.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { type BackupCopies } from "./Copies.ts"
import { backupNotFound, type BackupRecords } from "./Records.ts"
import { type BackupRuns } from "./Runs.ts"
import { BackupSettings } from "./Settings.ts"

/** How long a backup may take to stop, and how often its record is read meanwhile, in ms. */
const patienceMillis = 30_000
const pauseMillis = 100

const notRunning = new Conflict({ error: "The backup has already finished", code: "BACKUP_NOT_RUNNING" })

const inUse = new Conflict({
  error: "The backup is being restored",
  code: "BACKUP_IN_USE",
  hint: "Try again when that is done, or drop the branch that it is restored into",
  retry_after: 30
})

const stillRunning = new Unavailable({
  error: "The backup did not stop in time",
  code: "BACKUP_NOT_STOPPED",
  hint: "Try again; backups of a process that was killed are marked as failed within seconds",
  retry_after: 10
})

const unusable = (reason: string) =>
  new Unavailable({
    error: "The backup directory is unusable",
    code: "BACKUP_DIR_UNUSABLE",
    details: reason,
    retry_after: 60
  })

/** Stops and deletes backups: the file first, the record last. */
export const makeBackupRemoval = (records: BackupRecords, runs: BackupRuns, copies: BackupCopies) =>
  Effect.gen(function* () {
    const files = yield* BackupFiles
    const { keep } = yield* BackupSettings

    /** Stops a backup on whichever replica makes it; false when it is not in progress. */
    const stop = Effect.fnUntraced(function* (id: BackupId) {
      if (!(yield* records.requestStop(id))) return false
      const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
      for (;;) {
        yield* runs.checkNow
        if ((yield* records.place(id)).status !== "in_progress") return true
        if ((yield* Clock.currentTimeMillis) > deadline) return yield* stillRunning
        yield* Effect.sleep(pauseMillis)
      }
    })

    const cancel = Effect.fn("BackupRemoval.cancel")(function* (id: BackupId) {
      const stopped = yield* stop(id)
      const record = yield* records.find(id)
      // It may have finished first.
      return stopped && record.status === "failed" ? record : yield* notRunning
    })

    const removeFile = (file: string) =>
      Effect.mapError(Effect.andThen(files.remove(globalsFile(file)), files.remove(file)), ({ reason }) =>
        unusable(reason)
      )

    const remove = Effect.fn("BackupRemoval.remove")(function* (id: BackupId) {
      if ((yield* records.place(id)).used) return yield* inUse
      yield* stop(id)
      const { bucket, file, key } = yield* records.place(id)
      const found = file === null || (yield* removeFile(file))
      if (bucket !== null && key !== null) yield* copies.remove(bucket, key)
      if (!(yield* records.forget(id, found))) return yield* backupNotFound(id)
      return undefined
    })

    /** Removes the scheduled backups beyond those that SVC_BACKUP_KEEP keeps. */
    const retain = Effect.gen(function* () {
      for (const id of yield* records.expired(keep)) {
        yield* remove(id).pipe(
          // Another replica was faster.
          Effect.catchTag("NotFound", () => Effect.void),
          Effect.catchCause((cause) => Effect.logWarning(`Failed to remove backup ${id}; will retry`, cause))
        )
      }
    })

    return { cancel, remove, retain }
  })
