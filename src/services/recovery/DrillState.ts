import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type DrillState } from "../../domain/recovery/Drill.ts"
import { type Sample, sampleOf } from "../../domain/metrics/Sample.ts"

/** Without a passed drill for so long, in seconds, the archive is not proved to work. */
const overdueSeconds = 3 * 86_400

const stateSql = `
  select (select status = 'failed' from svc.recovery_drills where status <> 'running' order by id desc limit 1) as failed,
    extract(epoch from finished_at - started_at)::float8 as seconds,
    extract(epoch from now() - finished_at)::float8 as age
  from (select) one left join (select * from svc.recovery_drills where status = 'passed' order by id desc limit 1) passed on true`

interface Read {
  readonly failed: boolean | null
  readonly seconds: number | null
  readonly age: number | null
}

/** The drills as every process sees them, read from the database at most every 5 s; nothing if it does not answer. */
export const makeDrillState = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const began = yield* Clock.currentTimeMillis
  const read = yield* Effect.cachedWithTTL(
    sql.unsafe<Read>(stateSql).pipe(
      Effect.map(([row]) => row),
      Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => Effect.undefined }),
      Effect.catchCause(() => Effect.undefined)
    ),
    "5 seconds"
  )
  const state = Effect.gen(function* () {
    const found = yield* read
    if (found === undefined) return undefined
    if (found.failed === true) return "failed" satisfies DrillState
    // A new installation has as much time as one whose drills do not run any more.
    const age = found.age ?? ((yield* Clock.currentTimeMillis) - began) / 1000
    return (age > overdueSeconds ? "overdue" : "ok") satisfies DrillState
  })
  const samples = Effect.map(read, (found): ReadonlyArray<Sample> => {
    if (found === undefined) return []
    return [
      ...(found.failed === null ? [] : [sampleOf("svc_pitr_drill_failed", {}, found.failed ? 1 : 0)]),
      ...(found.age === null ? [] : [sampleOf("svc_pitr_drill_age_seconds", {}, Math.max(0, found.age))]),
      ...(found.seconds === null ? [] : [sampleOf("svc_pitr_drill_seconds", {}, found.seconds)])
    ]
  })
  return { state, samples }
})
