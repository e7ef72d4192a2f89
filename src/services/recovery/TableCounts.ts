import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type ChangesSince } from "../../domain/recovery/TableChanges.ts"
import { tableCountsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { logFailure, onOwnTables } from "../OwnTables.ts"
import { changesSql, countTablesSql, forgetSql, lastRunSql, mergeSql, pruneSql } from "./CountSql.ts"
import { RecoverySettings } from "./Settings.ts"

/** ms between two counts, of whichever process is first. */
const pause = 60_000
/** ms between two removals of what is old. */
const upkeepPause = 3_600_000
/** ms that changes are kept beyond SVC_PITR_KEEP: the base backup that its beginning needs may be a day older. */
const extraMillis = 86_400_000
const maxTables = 200

/** Clocks of browsers and of PostgreSQL differ. */
const tolerance = 60_000

interface Found extends Pick<ChangesSince, "complete" | "tables" | "table_count"> {
  readonly horizon: number | null
  readonly first: number | null
  readonly now: number
}

interface LastRun {
  readonly same: boolean
  readonly counted: number
  readonly now: number
}

const iso = (millis: number) => new Date(millis).toISOString()

/** How many rows of each table of the main database have changed, by PostgreSQL's counters, while SVC_PITR is set. */
export class TableCounts extends Context.Service<
  TableCounts,
  {
    /** Since a time in ms since 1970. 422 `TARGET_TIME_OUTSIDE` for one that is to come. */
    readonly since: (time: number) => Effect.Effect<ChangesSince, Unprocessable | Unavailable>
    /** Counts, unless another process has within the last minute. */
    readonly count: Effect.Effect<void, Unavailable>
  }
>()("svc/services/TableCounts") {
  static readonly layer = Layer.effect(
    TableCounts,
    Effect.gen(function* () {
      const { enabled, keep } = yield* RecoverySettings
      const sql = yield* SqlClient.SqlClient
      /** The last count of this process, which another one need not know: nothing is written if nothing has changed. */
      let seen: number | undefined
      let keptUp = Number.NEGATIVE_INFINITY

      const counting = Effect.gen(function* () {
        const [lock] = yield* sql.unsafe<{ readonly mine: boolean }>(
          `select pg_try_advisory_xact_lock(${tableCountsLock}) as mine`
        )
        if (lock?.mine !== true) return
        const [last] = yield* sql.unsafe<LastRun>(lastRunSql)
        // Half of the pause, because another process may be a little late.
        if (last?.same === true && last.now - last.counted < pause / 2) return
        if (last?.same === false) yield* sql.unsafe(forgetSql)
        const since = last?.same === true ? Math.max(last.counted, seen ?? 0) : null
        const [counted] = yield* sql.unsafe<{ readonly at: number }>(countTablesSql, [since])
        seen = counted?.at
        const now = counted?.at ?? 0
        if (now - keptUp < upkeepPause) return
        yield* sql.unsafe(pruneSql, [now - keep - extraMillis])
        yield* sql.unsafe(mergeSql)
        keptUp = now
      })
      const count = onOwnTables(sql.withTransaction(counting))
      if (enabled) {
        yield* count.pipe(
          Effect.catchCause(logFailure("Failed to count which tables have changed")),
          Effect.repeat(Schedule.spaced(pause)),
          Effect.forkScoped
        )
      }

      const since = Effect.fn("TableCounts.since")(function* (time: number) {
        const now = yield* Clock.currentTimeMillis
        if (time > now + tolerance) {
          return yield* new Unprocessable({
            error: `since is in the future: it is ${iso(now)}`,
            code: "TARGET_TIME_OUTSIDE"
          })
        }
        const [found] = yield* onOwnTables(
          sql.unsafe<Found>(changesSql, [time, seen ?? null, now - keep - extraMillis, maxTables])
        )
        if (found === undefined) return yield* Effect.die("No row of changes")
        const { complete, first, horizon, table_count, tables } = found
        const from = horizon === null ? null : iso(Math.max(horizon, Math.min(time, first ?? time)))
        return { since: iso(time), counted_from: from, counted_until: iso(found.now), complete, table_count, tables }
      })

      return TableCounts.of({ since, count })
    })
  )
}
