import { Clock, Context, Deferred, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Conflict, type NotImplemented, type Unavailable, Unprocessable } from "../../domain/errors.ts"
import { RecoveryDrill } from "../../domain/recovery/Drill.ts"
import { recoveryDrillLock } from "../../domain/sql/AdvisoryLocks.ts"
import { tryAdvisoryLocks } from "../AdvisoryLock.ts"
import { logFailure, onOwnTables, queryRows } from "../OwnTables.ts"
import { DrillFailed, LogArchive } from "../ports/recovery/LogArchive.ts"
import { OwnJobs } from "../OwnJobs.ts"
import { RecoverySettings } from "./Settings.ts"

/** How many drills are listed, and for how long they are kept. */
const [listed, retention] = [100, "90 days"] as const
/** How long the archive may take to have the time of a drill. */
const archiveMillis = 60_000

const columns = `id::int4, to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as started_at,
  to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as finished_at,
  to_char(target_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as target_time,
  status, error, extract(epoch from coalesce(finished_at, clock_timestamp()) - started_at)::float8 as seconds,
  tables, rows::float8`

const interrupted = "The service ended during the drill"

/** Restores of the archive that prove that it works. */
export class Drills extends Context.Service<
  Drills,
  {
    /** The newest first. 501 `PITR_NOT_CONFIGURED`. */
    readonly list: Effect.Effect<ReadonlyArray<RecoveryDrill>, NotImplemented | Unavailable>
    /**
     * Starts one, which continues when the caller leaves. 409 `DRILL_RUNNING` while one runs, of any replica; 422
     * `TARGET_TIME_OUTSIDE` before the first base backup.
     */
    readonly start: Effect.Effect<RecoveryDrill, NotImplemented | Conflict | Unprocessable | Unavailable>
  }
>()("svc/services/Drills") {
  static readonly layer = Layer.effect(
    Drills,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const archive = yield* LogArchive
      const { drills: scheduled, enabled } = yield* RecoverySettings
      const scope = yield* Effect.scope
      const rows = queryRows(sql, RecoveryDrill)

      const running = new Conflict({
        error: "A drill is running already",
        code: "DRILL_RUNNING",
        hint: "GET /api/backups/pitr/drills shows it"
      })

      /** Drills hold the lock while they run. */
      const abandoned = onOwnTables(
        sql.withTransaction(
          sql.unsafe(
            `update svc.recovery_drills set status = 'failed', finished_at = now(), error = $1
             where status = 'running' and pg_try_advisory_xact_lock(${recoveryDrillLock})`,
            [interrupted]
          )
        )
      )

      /** The archive has everything that was committed until then. */
      const archivedUntil = Effect.fnUntraced(function* (target: number) {
        const deadline = (yield* Clock.currentTimeMillis) + archiveMillis
        for (;;) {
          const { problem, spans } = yield* archive.state
          if ((spans.at(-1)?.to ?? 0) >= target) return undefined
          if ((yield* Clock.currentTimeMillis) > deadline) {
            return yield* new DrillFailed({
              reason: `The archive is late: ${problem ?? "it does not have the last minute"}`
            })
          }
          yield* Effect.sleep("500 millis")
        }
      })

      const run = (drill: RecoveryDrill) =>
        Effect.gen(function* () {
          const target = Date.parse(drill.target_time)
          yield* archivedUntil(target)
          // It was committed just before the target, so a restore that lacks it is of another time.
          return yield* archive.drill(target, drill.id)
        }).pipe(
          Effect.scoped,
          Effect.map(({ rows, tables }) => ({ status: "passed" as const, error: null, tables, rows })),
          Effect.catch((failure) =>
            Effect.succeed({
              status: "failed" as const,
              error: "reason" in failure ? failure.reason : failure.error,
              tables: null,
              rows: null
            })
          ),
          Effect.catchDefect((defect) =>
            Effect.as(Effect.logError("A recovery drill ended unexpectedly", defect), {
              status: "failed" as const,
              error: "It ended unexpectedly; the log of the service has why",
              tables: null,
              rows: null
            })
          ),
          Effect.flatMap(({ error, rows, status, tables }) =>
            onOwnTables(
              sql.unsafe(
                `update svc.recovery_drills set status = $2, error = $3, tables = $4, rows = $5, finished_at = clock_timestamp()
                 where id = $1`,
                [drill.id, status, error, tables, rows]
              )
            ).pipe(
              Effect.retry({ schedule: Schedule.spaced("5 seconds"), times: 60 }),
              Effect.andThen(
                status === "passed"
                  ? Effect.logInfo(
                      `Recovery drill ${drill.id} passed: the archive was restored to ${drill.target_time}, ${tables} tables with ${rows} rows`
                    )
                  : Effect.logError(`Recovery drill ${drill.id} failed: ${error}`)
              )
            )
          )
        )

      const one = (started: Deferred.Deferred<RecoveryDrill, Conflict | Unavailable>) =>
        Effect.gen(function* () {
          const lock = yield* tryAdvisoryLocks(sql, [recoveryDrillLock])
          if (lock === undefined) return yield* running
          yield* onOwnTables(
            sql.unsafe(
              "update svc.recovery_drills set status = 'failed', finished_at = now(), error = $1 where status = 'running'",
              [interrupted]
            )
          )
          yield* onOwnTables(
            sql.unsafe("delete from svc.recovery_drills where started_at < now() - $1::interval", [retention])
          )
          const [drill] = yield* onOwnTables(
            rows(
              `insert into svc.recovery_drills (target_time) values (date_trunc('milliseconds', clock_timestamp()) + interval '1 second')
               returning ${columns}`
            )
          )
          if (drill === undefined) return yield* Effect.die(new Error("An insertion returned no row"))
          yield* Deferred.succeed(started, drill)
          return yield* run(drill)
        }).pipe(
          Effect.scoped,
          Effect.catchCause((cause) => Effect.asVoid(Deferred.failCause(started, cause)))
        )

      const start = Effect.gen(function* () {
        if ((yield* archive.state).spans.length === 0) {
          return yield* new Unprocessable({
            error: "No time can be restored yet: the first base backup is not complete",
            code: "TARGET_TIME_OUTSIDE",
            hint: "GET /api/backups/pitr shows when it is"
          })
        }
        const started = yield* Deferred.make<RecoveryDrill, Conflict | Unavailable>()
        yield* Effect.forkIn(one(started), scope)
        return yield* Deferred.await(started)
      })

      const list = Effect.gen(function* () {
        yield* archive.configured
        return yield* onOwnTables(rows(`select ${columns} from svc.recovery_drills order by id desc limit ${listed}`))
      })

      /** One after each base backup. */
      const look = Effect.gen(function* () {
        yield* abandoned
        const base = (yield* archive.state).bases.at(-1)
        if (base === undefined) return undefined
        const [last] = yield* list
        if (last !== undefined && Date.parse(last.started_at) > Date.parse(base.ended_at)) return undefined
        return yield* start.pipe(
          Effect.map(({ id }) => `Drill ${id} started`),
          Effect.catchTags({ Conflict: () => Effect.undefined, Unprocessable: () => Effect.undefined })
        )
      })
      if (enabled) {
        yield* abandoned.pipe(
          Effect.catchCause(logFailure("Failed to look for interrupted recovery drills")),
          Effect.forkScoped
        )
      }
      if (enabled && scheduled) {
        yield* (yield* OwnJobs).add({
          name: "recovery.drill",
          summary: "Restores the archive after each base backup, as a proof that it works",
          times: "*/5 * * * *",
          timeout: 600,
          run: () => look
        })
      }

      return Drills.of({ list, start })
    })
  )
}
