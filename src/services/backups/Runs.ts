import { Cause, Clock, Context, Deferred, Effect, Exit, FiberSet, Latch, Layer, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type BackupId, globalsFile, newBackupFile, partialFile } from "../../domain/backups/Backup.ts"
import { type Conflict, type Unavailable } from "../../domain/errors.ts"
import { BackupCopies } from "./Copies.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { shownReason } from "./Records.ts"
import { BackupSettings } from "./Settings.ts"
import { type BackupTurn, BackupTurns } from "./Turns.ts"
import { Db } from "../ports/Db.ts"
import { DumpFailed, type DumpTool, DumpTools } from "../ports/DumpTools.ts"
import { onOwnTables } from "../OwnTables.ts"

/** How often the record is told how far it is, and asked whether to go on. */
const reportEvery = "1 second"

/** A backup that is being made. */
export interface BackupRun {
  readonly id: BackupId
  /** When it is over, well (true) or not. */
  readonly done: Effect.Effect<boolean>
}

/** Makes backups, each in the background to its end, whoever asked for it. */
export class BackupRuns extends Context.Service<
  BackupRuns,
  {
    /**
     * Answers once the record is there; undefined when another replica has the slot (ms since 1970). Fails as
     * `BackupFiles.ready`, `DumpTools.current` and `BackupTurns.begin` do.
     */
    readonly start: (label: string, slot?: number) => Effect.Effect<BackupRun | undefined, Conflict | Unavailable>
    /** Looks at once whether those of this process are to go on. */
    readonly look: Effect.Effect<unknown>
  }
>()("svc/services/BackupRuns") {
  static readonly layer = Layer.effect(
    BackupRuns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { main } = yield* Db
      const files = yield* BackupFiles
      const tools = yield* DumpTools
      const turns = yield* BackupTurns
      const copies = yield* BackupCopies
      const { bucket, timeout } = yield* BackupSettings
      const running = yield* FiberSet.make()
      const looks = yield* Latch.make(false)

      /** Ends, with a failure, when the backup is not to go on. */
      const watch = (turn: BackupTurn, percent: Ref.Ref<number>) =>
        Effect.gen(function* () {
          for (;;) {
            yield* Effect.timeoutOption(looks.await, reportEvery)
            const state = yield* Effect.mapError(
              turn.report(yield* Ref.get(percent)),
              () =>
                new DumpFailed({ reason: "The connection to the database was lost while the backup was being made" })
            )
            if (state === "cancelled") return yield* new DumpFailed({ reason: "Cancelled" })
            if (state === "over") return yield* new DumpFailed({ reason: "It was given up by another process" })
          }
        })

      /** The script and the dump; gives the size of the file. */
      const dump = (tool: DumpTool, turn: BackupTurn, file: string, percent: Ref.Ref<number>) =>
        Effect.gen(function* () {
          const globals = yield* tools.globals(main.name)
          yield* onOwnTables(sql.unsafe("update svc.backups set globals = $2 where id = $1", [turn.id, globals]))
          // What is half written when it is interrupted would come after it was swept.
          yield* Effect.uninterruptible(files.write(globalsFile(file), globals))
          yield* tool.dump(main.name, files.path(file), (fraction) => Ref.set(percent, percentOf(fraction)))
          return (yield* files.size(file)) ?? (yield* new DumpFailed({ reason: "Its file is gone" }))
        }).pipe(
          Effect.catchTags({
            Unavailable: ({ details, error }) =>
              Effect.fail(new DumpFailed({ reason: typeof details === "string" ? `${error}: ${details}` : error })),
            FileTrouble: ({ reason }) => Effect.fail(new DumpFailed({ reason }))
          })
        )

      const swept = (file: string) =>
        Effect.forEach([partialFile(file), file, globalsFile(file)], (name) => Effect.ignore(files.remove(name)), {
          discard: true
        })

      /** What the upkeep does when even this fails: it finds the record, and the file. */
      const ended = (text: string, params: ReadonlyArray<string | number>) =>
        onOwnTables(sql.unsafe(text, [...params])).pipe(
          Effect.retry({ times: 5, schedule: Schedule.spaced("500 millis") }),
          Effect.catchCause((cause) => Effect.logWarning("The end of a backup could not be written down yet", cause))
        )

      const finish = (id: BackupId, file: string, exit: Exit.Exit<number, DumpFailed>) =>
        Effect.gen(function* () {
          if (Exit.isSuccess(exit)) {
            yield* ended(
              `update svc.backups set status = 'completed', size_bytes = $2, progress = 100, completed_at = now()
               where id = $1`,
              [id, exit.value]
            )
            yield* copies.look
            return yield* Effect.logInfo(`Backup ${id} is complete: ${exit.value} bytes in ${file}`)
          }
          const reason = reasonOf(exit.cause)
          yield* swept(file)
          yield* ended(
            `update svc.backups set status = 'failed', error = $2, completed_at = now(), copy_to = null, globals = null
             where id = $1`,
            [id, shownReason(reason)]
          )
          if (Cause.hasDies(exit.cause)) return yield* Effect.logError(`Backup ${id} failed`, exit.cause)
          return yield* Effect.logWarning(`Backup ${id} failed: ${reason}`)
        })

      const make = (tool: DumpTool, turn: BackupTurn, file: string) =>
        Effect.gen(function* () {
          yield* Effect.logInfo(`Backup ${turn.id} is being made by ${tool.strategy} ${tool.version}`)
          const percent = yield* Ref.make(0)
          const exit = yield* Effect.raceFirst(dump(tool, turn, file, percent), watch(turn, percent)).pipe(
            Effect.timeoutOrElse({
              duration: timeout,
              orElse: () =>
                Effect.fail(new DumpFailed({ reason: `It took over ${timeout / 1000} s (SVC_BACKUP_TIMEOUT)` }))
            }),
            Effect.interruptible,
            Effect.exit
          )
          yield* finish(turn.id, file, exit)
          return Exit.isSuccess(exit)
        })

      const start = Effect.fn("BackupRuns.start")(function* (label: string, slot?: number) {
        yield* files.ready
        const tool = yield* tools.current
        const file = newBackupFile(yield* Clock.currentTimeMillis, tool.format)
        const begun = yield* Deferred.make<BackupRun | undefined, Conflict | Unavailable>()
        const whole = Effect.gen(function* () {
          const turn = yield* turns.begin({
            label,
            slot,
            strategy: tool.strategy,
            toolVersion: tool.version,
            format: tool.format,
            file,
            bucket
          })
          if (turn === undefined) return yield* Deferred.succeed(begun, undefined)
          const done = yield* Deferred.make<boolean>()
          yield* Deferred.succeed(begun, { id: turn.id, done: Deferred.await(done) })
          return yield* Deferred.succeed(done, yield* Effect.uninterruptible(make(tool, turn, file)))
        })
        yield* FiberSet.run(
          running,
          whole.pipe(
            Effect.scoped,
            Effect.catchCause((cause) =>
              Effect.flatMap(Deferred.failCause(begun, cause), (heard) =>
                heard ? Effect.void : Effect.logError("A backup broke off", cause)
              )
            )
          )
        )
        return yield* Deferred.await(begun)
      })

      return BackupRuns.of({ start, look: looks.release })
    })
  )
}

/** 100 only when it is complete. */
const percentOf = (fraction: number) => Math.max(0, Math.min(99, Math.floor(fraction * 100)))

const reasonOf = (cause: Cause.Cause<DumpFailed>) => {
  for (const reason of cause.reasons) if (reason._tag === "Fail") return reason.error.reason
  return Cause.hasInterrupts(cause)
    ? "The service ended while the backup was being made"
    : "Something went wrong on our side; the log has more"
}
