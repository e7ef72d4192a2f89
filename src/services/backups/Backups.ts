import { Clock, Context, Effect, Layer, Schedule, type Stream } from "effect"
import {
  type Backup,
  type BackupId,
  type LostObjects,
  type NewBackup,
  globalsFile,
  inventoryFile,
  scheduledLabel
} from "../../domain/backups/Backup.ts"
import { type RestoreOptions } from "../../domain/branches/Branch.ts"
import { Conflict, type Forbidden, type NotFound, Unavailable, type Unprocessable } from "../../domain/errors.ts"
import { type OwnJob, OwnJobs } from "../OwnJobs.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { type StoreError } from "../ports/ObjectStore.ts"
import { type BackupCopies, makeBackupCopies } from "./Copies.ts"
import { makeBackupInventories } from "./Inventory.ts"
import { type BackupRecords, backupNotFound, makeBackupRecords } from "./Records.ts"
import { type StartedRestore, makeBackupRestores } from "./Restores.ts"
import { type BackupRun, type BackupRuns, makeBackupRuns } from "./Runs.ts"
import { BackupSettings } from "./Settings.ts"
import { type BackupSource, makeBackupSources } from "./Sources.ts"
import { makeBackupVerification } from "./Verification.ts"

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
const makeBackupRemoval = (records: BackupRecords, runs: BackupRuns, copies: BackupCopies) =>
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
      Effect.mapError(
        Effect.andThen(
          Effect.forEach([globalsFile(file), inventoryFile(file)], files.remove, { discard: true }),
          files.remove(file)
        ),
        ({ reason }) => unusable(reason)
      )

    const remove = Effect.fn("BackupRemoval.remove")(function* (id: BackupId) {
      if ((yield* records.place(id)).used) return yield* inUse
      yield* stop(id)
      const { bucket, file, key } = yield* records.place(id)
      const existed = file === null || (yield* removeFile(file))
      if (bucket !== null && key !== null) yield* copies.remove(bucket, key)
      if (!(yield* records.forget(id, existed))) return yield* backupNotFound(id)
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

/** Retries while two other backups are in progress, or the database is unavailable. */
const retryEvery = "30 seconds"
const retries = 20

/** The functions of backups that the schedule uses. */
interface Scheduled {
  readonly start: (label: string, slot: number) => Effect.Effect<BackupRun | undefined, Conflict | Unavailable>
  readonly missed: (label: string, slot: number, reason: string) => Effect.Effect<void, Unavailable>
  readonly retain: Effect.Effect<void, Unavailable>
}

/** Seconds that a scheduled backup may take with its retries: more than any `SVC_BACKUP_TIMEOUT`. */
const longestJob = 7 * 86_400

/** The job that makes a backup at each time of the schedule, and removes old ones. */
export const backupJob = (times: string, { missed, retain, start }: Scheduled): OwnJob => ({
  name: "backups.schedule",
  summary: "Makes a backup of the database, and removes old ones",
  times,
  timeout: longestJob,
  run: (slot) => {
    const label = scheduledLabel(slot)
    return start(label, slot).pipe(
      Effect.retry({ times: retries, schedule: Schedule.spaced(retryEvery) }),
      Effect.tapError((failure) =>
        Effect.andThen(
          Effect.logWarning(`Failed to make the backup "${label}": ${failure.error}`),
          missed(label, slot, failure.error)
        )
      ),
      Effect.mapError(({ error }) => error),
      Effect.flatMap(
        Effect.fnUntraced(function* (run) {
          if (run === undefined) return "Another process makes it"
          if (!(yield* run.done)) return yield* Effect.fail(`Backup ${run.id} failed; its record says why`)
          yield* Effect.mapError(retain, ({ error }) => error)
          return `Backup ${run.id} is complete`
        })
      )
    )
  }
})

type Missing = NotFound | Conflict | Unavailable

/** Dumps of the main database in files, restored into branches (spec: Backup). */
export class Backups extends Context.Service<
  Backups,
  {
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<Backup>, Unavailable>
    readonly find: (id: BackupId) => Effect.Effect<Backup, NotFound | Unavailable>
    /** Starts a backup. 409 `BACKUP_LIMIT` when two are in progress; 503 `BACKUP_SOURCE_BUSY`, `BACKUP_DIR_UNUSABLE`. */
    readonly create: (given: NewBackup) => Effect.Effect<Backup, Missing>
    /** The record of the cancelled backup. 409 `BACKUP_NOT_RUNNING`, 503 `BACKUP_NOT_STOPPED`. */
    readonly cancel: (id: BackupId) => Effect.Effect<Backup, Missing>
    /** Stops the backup first if necessary. 409 `BACKUP_IN_USE` while it is being restored. */
    readonly remove: (id: BackupId) => Effect.Effect<void, Missing | StoreError>
    /** 409 `BACKUP_NOT_COMPLETED`, 404 `BACKUP_FILE_MISSING`, 422 `BACKUP_ALTERED`. */
    readonly file: (id: BackupId) => Effect.Effect<BackupSource, Missing | Unprocessable | StoreError>
    /** The script that belongs to the file. */
    readonly globals: (id: BackupId) => Effect.Effect<string, Missing>
    /**
     * The objects that the store had, as lines of JSON. 404 `BACKUP_INVENTORY_MISSING`, 422 `BACKUP_ALTERED`, the latter
     * also while it is read.
     */
    readonly inventory: (
      id: BackupId
    ) => Effect.Effect<Stream.Stream<string, Unprocessable>, Missing | Unprocessable | StoreError>
    /** The objects of the inventory that are no longer there as they were. Fails as `inventory` does. */
    readonly lost: (id: BackupId) => Effect.Effect<LostObjects, Missing | Unprocessable | StoreError>
    /** Starts a restore. Fails at once as `file`, `DumpTools.reader` and `Branches.create` do. */
    readonly restore: (
      id: BackupId,
      options: RestoreOptions
    ) => Effect.Effect<StartedRestore, Missing | Forbidden | Unprocessable | StoreError>
  }
>()("svc/services/Backups") {
  static readonly layer = Layer.effect(
    Backups,
    Effect.gen(function* () {
      const { schedule } = yield* BackupSettings
      const records = yield* makeBackupRecords
      const copies = yield* makeBackupCopies
      const sources = yield* makeBackupSources(records)
      const verification = yield* makeBackupVerification(sources)
      const inventories = yield* makeBackupInventories
      const runs = yield* makeBackupRuns(records, copies, verification, inventories)
      const { cancel, remove, retain } = yield* makeBackupRemoval(records, runs, copies)
      const restores = yield* makeBackupRestores(sources, inventories)
      if (schedule !== undefined) {
        const job = backupJob(schedule.expression, { start: runs.start, missed: records.missed, retain })
        yield* (yield* OwnJobs).add(job)
      }

      const create = Effect.fn("Backups.create")(function* ({ label }: NewBackup) {
        const run = yield* runs.start(label)
        return yield* run === undefined ? Effect.die("A backup without a slot was not begun") : records.find(run.id)
      })

      return Backups.of({
        list: records.list,
        find: records.find,
        create,
        cancel,
        remove,
        file: sources.find,
        globals: sources.globals,
        inventory: (id) => Effect.flatMap(sources.completed(id), inventories.lines),
        lost: (id) => Effect.flatMap(sources.completed(id), inventories.lost),
        restore: restores.start
      })
    })
  )
}
