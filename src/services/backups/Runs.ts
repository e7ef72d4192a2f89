import { Cause, Clock, Deferred, Effect, Exit, FiberSet, Latch, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import {
  type BackupId,
  backupWarningsSql,
  globalsFile,
  inventoryFile,
  newBackupFile,
  partialFile,
  percentOf
} from "../../domain/backups/Backup.ts"
import { type Conflict, type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { Db } from "../ports/Db.ts"
import { DumpFailed, type DumpTool, DumpTools } from "../ports/DumpTools.ts"
import { type BackupCopies } from "./Copies.ts"
import { digestOf } from "./Sources.ts"
import { type BackupInventories } from "./Inventory.ts"
import { type BackupRecords, type BegunBackup, reasonOf, storedReason } from "./Records.ts"
import { BackupSettings, withinBackupTimeout } from "./Settings.ts"
import { type BackupVerification } from "./Verification.ts"

/** How often progress is recorded, and cancellation noticed. */
const reportEvery = "1 second"

/** Longer, it would hold up the backup of a database for a store with a great many objects. */
const inventoryTime = "15 minutes"

/** The file of a dump. */
interface Written {
  readonly size: number
  readonly sha256: string
}

/** A backup in progress. */
export interface BackupRun {
  readonly id: BackupId
  /** Returns when the backup has ended; true if it succeeded. */
  readonly done: Effect.Effect<boolean>
}

/** Makes backups in the background; a caller that leaves does not stop them. */
export const makeBackupRuns = (
  records: BackupRecords,
  copies: BackupCopies,
  verification: BackupVerification,
  inventories: BackupInventories
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { main } = yield* Db
    const files = yield* BackupFiles
    const tools = yield* DumpTools
    const { bucket, timeout } = yield* BackupSettings
    const running = yield* FiberSet.make()
    const checks = yield* Latch.make(false)

    /** Fails when the backup must stop. */
    const watch = (backup: BegunBackup, percent: Ref.Ref<number>) =>
      Effect.gen(function* () {
        for (;;) {
          yield* Effect.timeoutOption(checks.await, reportEvery)
          const state = yield* Effect.mapError(
            backup.report(yield* Ref.get(percent)),
            () => new DumpFailed({ reason: "The connection to the database was lost while the backup was being made" })
          )
          if (state === "cancelled") return yield* new DumpFailed({ reason: "Cancelled" })
          if (state === "ended") return yield* new DumpFailed({ reason: "Marked as failed by another process" })
        }
      })

    /** Records which objects the store has. A store that fails costs the inventory, not the backup. */
    const takeInventory = (id: BackupId, file: string) =>
      inventories.take(file).pipe(
        Effect.timeoutOrElse({
          duration: inventoryTime,
          orElse: () => Effect.fail(new DumpFailed({ reason: `It took over ${inventoryTime}` }))
        }),
        Effect.catchTag("FileTrouble", ({ reason }) => Effect.fail(new DumpFailed({ reason }))),
        Effect.flatMap(({ bytes, count }) =>
          onOwnTables(
            sql.unsafe("update svc.backups set object_count = $2, object_bytes = $3 where id = $1", [id, count, bytes])
          )
        ),
        Effect.catchCause((cause) => {
          if (Cause.hasInterrupts(cause)) return Effect.interrupt
          const reason = reasonOf(cause, "made")
          return Effect.andThen(
            Effect.logWarning(`Failed to list the objects for backup ${id}: ${reason}`),
            onOwnTables(
              sql.unsafe("update svc.backups set warnings = warnings || $2::text where id = $1", [
                id,
                storedReason(`the objects in the store are not listed: ${reason}`)
              ])
            )
          )
        })
      )

    /** Writes the globals script and the dump. */
    const dump = (tool: DumpTool, { id }: BegunBackup, file: string, percent: Ref.Ref<number>) =>
      Effect.gen(function* () {
        const globals = yield* tools.globals(main.name)
        const warnings = yield* onOwnTables(sql.unsafe<{ readonly warning: string }>(backupWarningsSql))
        yield* onOwnTables(
          sql.unsafe("update svc.backups set globals = $2, warnings = $3 where id = $1", [
            id,
            globals,
            warnings.map(({ warning }) => warning)
          ])
        )
        // Interrupted, it could write its file after the clean-up.
        yield* Effect.uninterruptible(files.write(globalsFile(file), globals))
        yield* Effect.all(
          [
            tool.dump(main.name, files.path(file), (fraction) => Ref.set(percent, percentOf(fraction))),
            takeInventory(id, file)
          ],
          { concurrency: 2, discard: true }
        )
        const size = (yield* files.size(file)) ?? (yield* new DumpFailed({ reason: "Its file is gone" }))
        return { size, sha256: yield* digestOf(files.bytes(file)) } satisfies Written
      }).pipe(
        Effect.catchTags({
          Unavailable: ({ details, error }) =>
            Effect.fail(new DumpFailed({ reason: typeof details === "string" ? `${error}: ${details}` : error })),
          FileTrouble: ({ reason }) => Effect.fail(new DumpFailed({ reason }))
        })
      )

    const removeFiles = (file: string) =>
      Effect.forEach(
        [partialFile(file), file, globalsFile(file), inventoryFile(file)],
        (name) => Effect.ignore(files.remove(name)),
        {
          discard: true
        }
      )

    /** If this fails too, the upkeep finds the record and the file. */
    const recordEnd = (text: string, params: ReadonlyArray<string | number | null>) =>
      onOwnTables(sql.unsafe(text, [...params])).pipe(
        Effect.retry({ times: 5, schedule: Schedule.spaced("500 millis") }),
        Effect.catchCause((cause) => Effect.logWarning("Failed to record the end of a backup; will retry", cause))
      )

    const finish = (id: BackupId, file: string, scheduled: boolean, exit: Exit.Exit<Written, DumpFailed>) =>
      Effect.gen(function* () {
        if (Exit.isSuccess(exit)) {
          const { sha256, size } = exit.value
          yield* recordEnd(
            `update svc.backups set status = 'completed', size_bytes = $2, sha256 = $3, progress = 100, completed_at = now(),
               verification = $4
             where id = $1`,
            [id, size, sha256, verification.wants(scheduled) ? "waiting" : null]
          )
          yield* copies.notify
          yield* verification.notify
          return yield* Effect.logInfo(`Backup ${id} completed: ${size} bytes in ${file}`)
        }
        const reason = reasonOf(exit.cause, "made")
        yield* removeFiles(file)
        yield* recordEnd(
          `update svc.backups set status = 'failed', error = $2, completed_at = now(), copy_to = null, globals = null
           where id = $1`,
          [id, storedReason(reason)]
        )
        if (Cause.hasDies(exit.cause)) return yield* Effect.logError(`Backup ${id} failed`, exit.cause)
        return yield* Effect.logWarning(`Backup ${id} failed: ${reason}`)
      })

    const make = (tool: DumpTool, backup: BegunBackup, file: string, scheduled: boolean) =>
      Effect.gen(function* () {
        yield* Effect.logInfo(`Backup ${backup.id} started with ${tool.strategy} ${tool.version}`)
        const percent = yield* Ref.make(0)
        const exit = yield* Effect.raceFirst(dump(tool, backup, file, percent), watch(backup, percent)).pipe(
          withinBackupTimeout(timeout),
          Effect.interruptible,
          Effect.exit
        )
        yield* finish(backup.id, file, scheduled, exit)
        return Exit.isSuccess(exit)
      })

    /**
     * Returns once the record is there; undefined when another replica has the slot (ms since 1970). Fails as
     * `BackupFiles.ready`, `DumpTools.current` and `BackupRecords.begin` do.
     */
    const start = Effect.fn("BackupRuns.start")(function* (label: string, slot?: number) {
      yield* files.ready
      const tool = yield* tools.current
      const file = newBackupFile(yield* Clock.currentTimeMillis, tool.format)
      const begun = yield* Deferred.make<BackupRun | undefined, Conflict | Unavailable>()
      const whole = Effect.gen(function* () {
        const backup = yield* records.begin({
          label,
          slot,
          strategy: tool.strategy,
          toolVersion: tool.version,
          format: tool.format,
          file,
          bucket
        })
        if (backup === undefined) return yield* Deferred.succeed(begun, undefined)
        const done = yield* Deferred.make<boolean>()
        yield* Deferred.succeed(begun, { id: backup.id, done: Deferred.await(done) })
        return yield* Deferred.succeed(
          done,
          yield* Effect.uninterruptible(make(tool, backup, file, slot !== undefined))
        )
      })
      yield* FiberSet.run(
        running,
        whole.pipe(
          Effect.scoped,
          Effect.catchCause((cause) =>
            Effect.flatMap(Deferred.failCause(begun, cause), (reported) =>
              reported ? Effect.void : Effect.logError("A backup ended unexpectedly", cause)
            )
          )
        )
      )
      return yield* Deferred.await(begun)
    })

    return {
      start,
      /** Checks at once whether backups of this process were cancelled. */
      checkNow: checks.release
    }
  })

export type BackupRuns = Effect.Success<ReturnType<typeof makeBackupRuns>>
