import { Cause, Context, Deferred, Effect, Exit, FiberSet, Layer, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type BackupId, restoreLabel } from "../../domain/backups/Backup.ts"
import { type Branch, type NewBranch } from "../../domain/branches/Branch.ts"
import { type Conflict, type Forbidden, type NotFound, type Unavailable, Unprocessable } from "../../domain/errors.ts"
import { shownReason } from "./Records.ts"
import { BackupSettings } from "./Settings.ts"
import { type BackupSource, BackupSources } from "./Sources.ts"
import { Branches } from "../branches/Branches.ts"
import { DumpFailed, type DumpTool, DumpTools } from "../ports/DumpTools.ts"
import { type StoreError } from "../ports/ObjectStore.ts"
import { onOwnTables } from "../OwnTables.ts"

const reportEvery = "1 second"

/** A restore that goes on by itself. Both show the branch's password. */
export interface Restoring {
  readonly branch: Branch
  /** When the branch can be used. 422 `RESTORE_FAILED`, with the reason in `details`. */
  readonly done: Effect.Effect<Branch, Forbidden | Unavailable | Unprocessable>
}

/** What may be asked for; the backup's label and no end without. */
export type RestoreOptions = Partial<NewBranch>

const restoreFailed = ({ reason }: DumpFailed) =>
  new Unprocessable({ error: "The backup could not be restored", code: "RESTORE_FAILED", details: reason })

/** Backups, put into branches of their own. */
export class BackupRestores extends Context.Service<
  BackupRestores,
  {
    /** Fails at once as `BackupSources.find`, `DumpTools.reader` and `Branches.create` do. */
    readonly start: (
      id: BackupId,
      options: RestoreOptions
    ) => Effect.Effect<Restoring, NotFound | Conflict | Forbidden | Unavailable | StoreError>
  }
>()("svc/services/BackupRestores") {
  static readonly layer = Layer.effect(
    BackupRestores,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const branches = yield* Branches
      const tools = yield* DumpTools
      const sources = yield* BackupSources
      const { timeout } = yield* BackupSettings
      const running = yield* FiberSet.make()

      const ask = <A extends object>(text: string, params: ReadonlyArray<string | number | null>) =>
        onOwnTables(sql.unsafe<A>(text, [...params]))

      /** Keeps the record current until it is interrupted. */
      const telling = (restore: number, percent: Ref.Ref<number>) =>
        Ref.get(percent).pipe(
          Effect.flatMap((now) =>
            ask("update svc.restores set progress = $2 where id = $1 and status = 'in_progress'", [restore, now])
          ),
          // Told late is told in time.
          Effect.ignore,
          Effect.delay(reportEvery),
          Effect.forever
        )

      const fill = (tool: DumpTool, source: BackupSource, restore: number, database: string) =>
        Effect.gen(function* () {
          const percent = yield* Ref.make(0)
          const file = yield* source.local(restore)
          yield* Effect.raceFirst(
            tool.restore(file, database, (fraction) => Ref.set(percent, percentOf(fraction))),
            telling(restore, percent)
          )
        }).pipe(
          Effect.scoped,
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () =>
              Effect.fail(new DumpFailed({ reason: `It took over ${timeout / 1000} s (SVC_BACKUP_TIMEOUT)` }))
          })
        )

      const finish = (restore: number, exit: Exit.Exit<unknown, DumpFailed | Forbidden | Unavailable>) =>
        ask(
          `update svc.restores set status = $2, error = $3, finished_at = now(),
             progress = case when $2 = 'completed' then 100 else progress end
           where id = $1`,
          Exit.isSuccess(exit) ? [restore, "completed", null] : [restore, "failed", shownReason(reasonOf(exit.cause))]
        ).pipe(
          Effect.retry({ times: 5, schedule: Schedule.spaced("500 millis") }),
          Effect.catchCause((cause) => Effect.logWarning("The end of a restore could not be written down yet", cause))
        )

      const start = Effect.fn("BackupRestores.start")(function* (id: BackupId, options: RestoreOptions) {
        const source = yield* sources.find(id)
        const tool = yield* tools.reader(source.place.format)
        const begun = yield* Deferred.make<Restoring, Conflict | Forbidden | Unavailable>()
        const whole = Effect.gen(function* () {
          const restore = yield* Deferred.make<number, Unavailable>()
          const { branch, done } = yield* branches.restore(
            {
              label: options.label ?? restoreLabel(source.place.label),
              ttlHours: options.ttlHours ?? 0,
              sourceBackupId: id
            },
            (database) => Effect.flatMap(Deferred.await(restore), (number) => fill(tool, source, number, database))
          )
          yield* ask<{ readonly id: number }>(
            `insert into svc.restores (backup_id, branch_id)
             select $1, (select id from svc.branches where id = $2) returning id`,
            [id, branch.id]
          ).pipe(
            Effect.map(([row]) => row?.id ?? 0),
            Effect.onError((cause) => Deferred.failCause(restore, cause)),
            Effect.flatMap((number) => Deferred.succeed(restore, number))
          )
          const number = yield* Deferred.await(restore)
          const result = yield* Deferred.make<Branch, DumpFailed | Forbidden | Unavailable>()
          const ended = Effect.catchTag(Deferred.await(result), "DumpFailed", (failure) =>
            Effect.fail(restoreFailed(failure))
          )
          yield* Deferred.succeed(begun, { branch, done: ended })
          const exit = yield* Effect.exit(Effect.interruptible(done))
          yield* finish(number, exit)
          yield* Deferred.done(result, exit)
        })
        yield* FiberSet.run(
          running,
          Effect.uninterruptible(whole).pipe(
            Effect.catchCause((cause) =>
              Effect.flatMap(Deferred.failCause(begun, cause), (heard) =>
                heard ? Effect.void : Effect.logError("A restore broke off", cause)
              )
            )
          )
        )
        return yield* Deferred.await(begun)
      })

      return BackupRestores.of({ start })
    })
  )
}

const percentOf = (fraction: number) => Math.max(0, Math.min(99, Math.floor(fraction * 100)))

const reasonOf = (cause: Cause.Cause<DumpFailed | Forbidden | Unavailable>) => {
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") return reason.error._tag === "DumpFailed" ? reason.error.reason : reason.error.error
  }
  return Cause.hasInterrupts(cause)
    ? "The service ended while the backup was being restored"
    : "Something went wrong on our side; the log has more"
}
