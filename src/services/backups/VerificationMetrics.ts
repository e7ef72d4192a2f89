import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Sample, sampleOf } from "../../domain/metrics/Sample.ts"

const stateSql = `
  select count(*) filter (where verification = 'failed')::int4 as failed,
         extract(epoch from now() - max(verified_at) filter (where verification = 'passed'))::float8 as age
  from svc.backups where status = 'completed'`

/** The verifications as metrics, read from the database at most every 5 s; none if it does not answer within 2 s. */
export const makeVerificationMetrics = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const read = sql.unsafe<{ readonly failed: number; readonly age: number | null }>(stateSql).pipe(
    Effect.map(([row]): ReadonlyArray<Sample> => {
      if (row === undefined) return []
      const failed = sampleOf("svc_backups_unrestorable", {}, row.failed)
      return row.age === null
        ? [failed]
        : [failed, sampleOf("svc_backup_verified_age_seconds", {}, Math.max(0, row.age))]
    }),
    Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => Effect.succeed([]) }),
    Effect.catchCause(() => Effect.succeed([]))
  )
  return yield* Effect.cachedWithTTL(read, "5 seconds")
})
