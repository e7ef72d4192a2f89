import { Clock, Context, Effect, Layer } from "effect"
import { type Backup, type BackupId, globalsFile } from "../../domain/backups/Backup.ts"
import { Conflict, type NotFound, Unavailable } from "../../domain/errors.ts"
import { BackupCopies } from "./Copies.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { backupNotFound, BackupRecords } from "./Records.ts"
import { BackupRuns } from "./Runs.ts"
import { BackupSettings } from "./Settings.ts"
import { type StoreError } from "../ports/ObjectStore.ts"

/** How long one that is to stop may take to, and how often it is looked at, in ms. */
const patienceMillis = 30_000
const pauseMillis = 100

const notRunning = new Conflict({ error: "The backup is over already", code: "BACKUP_NOT_RUNNING" })

const inUse = new Conflict({
  error: "The backup is being restored",
  code: "BACKUP_IN_USE",
  hint: "Try again when that is done, or drop the branch that it is restored into",
  retry_after: 30
})

const stillRunning = new Unavailable({
  error: "The backup does not stop",
  code: "BACKUP_NOT_STOPPED",
  hint: "Try again: what a process left that was killed is noticed soon",
  retry_after: 10
})

/** How backups are stopped, and how they go: the file first, the record last. */
export class BackupRemoval extends Context.Service<
  BackupRemoval,
  {
    /** The record of what has failed by it. 409 `BACKUP_NOT_RUNNING`, 503 `BACKUP_NOT_STOPPED`. */
    readonly cancel: (id: BackupId) => Effect.Effect<Backup, NotFound | Conflict | Unavailable>
    /** Stops it if need be. 409 `BACKUP_IN_USE` while it is restored. */
    readonly remove: (id: BackupId) => Effect.Effect<void, NotFound | Conflict | Unavailable | StoreError>
    /** Removes scheduled ones beyond those that SVC_BACKUP_KEEP keeps. */
    readonly retain: Effect.Effect<void, Unavailable>
  }
>()("svc/services/BackupRemoval") {
  static readonly layer = Layer.effect(
    BackupRemoval,
    Effect.gen(function* () {
      const records = yield* BackupRecords
      const runs = yield* BackupRuns
      const files = yield* BackupFiles
      const copies = yield* BackupCopies
      const { keep } = yield* BackupSettings

      /** Whichever replica makes it. False when nobody does. */
      const stop = Effect.fnUntraced(function* (id: BackupId) {
        if (!(yield* records.askToStop(id))) return false
        const until = (yield* Clock.currentTimeMillis) + patienceMillis
        for (;;) {
          yield* runs.look
          if ((yield* records.place(id)).status !== "in_progress") return true
          if ((yield* Clock.currentTimeMillis) > until) return yield* stillRunning
          yield* Effect.sleep(pauseMillis)
        }
      })

      const cancel = Effect.fn("BackupRemoval.cancel")(function* (id: BackupId) {
        const stopped = yield* stop(id)
        const record = yield* records.find(id)
        // It may have been quicker.
        return stopped && record.status === "failed" ? record : yield* notRunning
      })

      const remove = Effect.fn("BackupRemoval.remove")(function* (id: BackupId) {
        if ((yield* records.place(id)).used) return yield* inUse
        yield* stop(id)
        const { bucket, file, key } = yield* records.place(id)
        const found = file === null || (yield* removeFile(file))
        if (bucket !== null && key !== null) yield* copies.remove(bucket, key)
        if (!(yield* records.forget(id, found))) return yield* backupNotFound(id)
        return undefined
      })

      const removeFile = (file: string) =>
        Effect.mapError(
          Effect.andThen(files.remove(globalsFile(file)), files.remove(file)),
          ({ reason }) =>
            new Unavailable({
              error: "The directory of backups can't be used",
              code: "BACKUP_DIR_UNUSABLE",
              details: reason,
              retry_after: 60
            })
        )

      const retain = Effect.gen(function* () {
        for (const id of yield* records.outworn(keep)) {
          yield* remove(id).pipe(
            // Another replica was quicker.
            Effect.catchTag("NotFound", () => Effect.void),
            Effect.catchCause((cause) => Effect.logWarning(`Backup ${id} can't be removed yet`, cause))
          )
        }
      })

      return BackupRemoval.of({ cancel, remove, retain })
    })
  )
}
