import { Cause, Deferred, Effect, Exit, FiberSet, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type BackupId, percentOf, restoreLabel } from "../../domain/backups/Backup.ts"
import { type Branch, type RestoreOptions } from "../../domain/branches/Branch.ts"
import { type Conflict, type Forbidden, type NotFound, type Unavailable, Unprocessable } from "../../domain/errors.ts"
import { Branches } from "../branches/Branches.ts"
import { onOwnTables } from "../OwnTables.ts"
import { DumpFailed, type DumpTool, DumpTools, type RestoreTarget } from "../ports/DumpTools.ts"
import { backupNotFound, reasonOf, storedReason } from "./Records.ts"
import { BackupSettings, withinBackupTimeout } from "./Settings.ts"
import { type BackupInventories } from "./Inventory.ts"
import { type BackupSource, type BackupSources } from "./Sources.ts"

const reportEvery = "1 second"

/** A restore in the background. Both branches show the password. */
export interface StartedRestore {
  readonly branch: Branch
  /**
   * Returns once the branch can be used. 422 `RESTORE_FAILED`, `BACKUP_ALTERED` or `BACKUP_UNVERIFIED`, with the reason
   * in `details`.
   */
  readonly done: Effect.Effect<Branch, Forbidden | Unavailable | Unprocessable>
}

const restoreFailed = ({ code, reason }: DumpFailed) =>
  new Unprocessable({ error: "The backup could not be restored", code: code ?? "RESTORE_FAILED", details: reason })

/** Restores backups into branches of their own. */
export const makeBackupRestores = (sources: BackupSources, inventories: BackupInventories) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const branches = yield* Branches
    const tools = yield* DumpTools
    const { timeout } = yield* BackupSettings
    const running = yield* FiberSet.make()

    const ask = <A extends object>(text: string, params: ReadonlyArray<string | number | null>) =>
      onOwnTables(sql.unsafe<A>(text, [...params]))

    /** Records the progress until it is interrupted. */
    const report = (restore: number, percent: Ref.Ref<number>) =>
      Ref.get(percent).pipe(
        Effect.flatMap((now) =>
          ask("update svc.restores set progress = $2 where id = $1 and status = 'in_progress'", [restore, now])
        ),
        // The next update makes up for one that fails.
        Effect.ignore,
        Effect.delay(reportEvery),
        Effect.forever
      )

    const fill = (tool: DumpTool, source: BackupSource, restore: number, target: RestoreTarget) =>
      Effect.gen(function* () {
        const percent = yield* Ref.make(0)
        const file = yield* source.local(restore)
        yield* Effect.raceFirst(
          tool.restore(file, target, (fraction) => Ref.set(percent, percentOf(fraction))),
          report(restore, percent)
        )
      }).pipe(Effect.scoped, withinBackupTimeout(timeout))

    const finish = (restore: number, exit: Exit.Exit<unknown, DumpFailed | Forbidden | Unavailable>) =>
      ask(
        `update svc.restores set status = $2, error = $3, finished_at = now(),
           progress = case when $2 = 'completed' then 100 else progress end
         where id = $1`,
        Exit.isSuccess(exit)
          ? [restore, "completed", null]
          : [restore, "failed", storedReason(reasonOf(exit.cause, "restored"))]
      ).pipe(
        Effect.retry({ times: 5, schedule: Schedule.spaced("500 millis") }),
        Effect.catchCause((cause) => Effect.logWarning("Failed to record the end of a restore; will retry", cause))
      )

    /** Records which objects of the backup's inventory are lost. It may take minutes, and nothing waits for it. */
    const recordLost = (restore: number, { place }: BackupSource) =>
      place.objects === null
        ? Effect.void
        : inventories.lost(place).pipe(
            Effect.flatMap(({ changed, gone }) =>
              ask("update svc.restores set objects_gone = $2, objects_changed = $3 where id = $1", [
                restore,
                gone,
                changed
              ])
            ),
            Effect.interruptible,
            Effect.catchCause((cause) =>
              Cause.hasInterrupts(cause)
                ? Effect.void
                : Effect.logWarning(`Failed to compare the objects of backup ${place.id} with the store`, cause)
            )
          )

    /** Fails at once as `BackupSources.find`, `DumpTools.reader` and `Branches.create` do. */
    const start = Effect.fn("BackupRestores.start")(function* (id: BackupId, options: RestoreOptions) {
      const source = yield* sources.find(id)
      const tool = yield* tools.reader(source.format)
      const begun = yield* Deferred.make<StartedRestore, NotFound | Conflict | Forbidden | Unavailable>()
      const whole = Effect.gen(function* () {
        const restore = yield* Deferred.make<number, DumpFailed>()
        const { branch, done } = yield* branches.restore(
          {
            ...options,
            label: options.label ?? restoreLabel(source.place.label),
            sourceBackupId: id
          },
          (target) => Effect.flatMap(Deferred.await(restore), (number) => fill(tool, source, number, target))
        )
        // The lock on the backup's row waits for a deletion, after which there is no row.
        const number = yield* ask<{ readonly id: number }>(
          `insert into svc.restores (backup_id, branch_id)
           select b.id, (select id from svc.branches where id = $2) from svc.backups b where b.id = $1 for key share of b
           returning id`,
          [id, branch.id]
        ).pipe(
          Effect.flatMap(([row]) => (row === undefined ? Effect.fail(backupNotFound(id)) : Effect.succeed(row.id))),
          Effect.onError((cause) => Deferred.fail(restore, new DumpFailed({ reason: reasonOf(cause, "restored") })))
        )
        yield* Deferred.succeed(restore, number)
        const result = yield* Deferred.make<Branch, DumpFailed | Forbidden | Unavailable>()
        const ended = Effect.catchTag(Deferred.await(result), "DumpFailed", (failure) =>
          Effect.fail(restoreFailed(failure))
        )
        yield* Deferred.succeed(begun, { branch, done: ended })
        const exit = yield* Effect.exit(Effect.interruptible(done))
        yield* finish(number, exit)
        yield* Deferred.done(result, exit)
        if (Exit.isSuccess(exit)) yield* recordLost(number, source)
      })
      yield* FiberSet.run(
        running,
        Effect.uninterruptible(whole).pipe(
          Effect.catchCause((cause) =>
            Effect.flatMap(Deferred.failCause(begun, cause), (reported) =>
              reported ? Effect.void : Effect.logError("A restore ended unexpectedly", cause)
            )
          )
        )
      )
      return yield* Deferred.await(begun)
    })

    return { start }
  })
