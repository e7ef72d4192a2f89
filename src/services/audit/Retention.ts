import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { SettingError, integer } from "../../domain/Settings.ts"
import { auditLock } from "../../domain/sql/AdvisoryLocks.ts"
import { onOwnTables } from "../OwnTables.ts"
import { OwnJobs } from "../OwnJobs.ts"

/** The least that SVC_AUDIT_DAYS may be: svc.prune_audit() deletes nothing that is younger. */
const least = 30

/** Days that entries of the audit are kept; 0: for ever. */
export const auditDays = Effect.filterOrFail(
  integer("SVC_AUDIT_DAYS", 365, 0, 36_500),
  (days) => days === 0 || days >= least,
  (days) =>
    new SettingError({ message: `SVC_AUDIT_DAYS must be 0, or a whole number from ${least}, but it is "${days}"` })
)

/** Entries that one statement deletes, and statements in a round. */
const [batch, batches] = [5_000, 200]

/** Deletes entries that are older than so many days, one replica at a time, and returns their number. */
export const pruneAudit = Effect.fnUntraced(function* (days: number) {
  const sql = yield* SqlClient.SqlClient
  let deleted = 0
  const prune = sql.withTransaction(
    Effect.gen(function* () {
      const [lock] = yield* sql.unsafe<{ readonly mine: boolean }>(
        `select pg_try_advisory_xact_lock(${auditLock}) as mine`
      )
      if (lock?.mine !== true) return false
      const [row] = yield* sql.unsafe<{ readonly deleted: number }>(
        "select svc.prune_audit($1::int4, $2::int4)::float8 as deleted",
        [days, batch]
      )
      deleted += row?.deleted ?? 0
      return (row?.deleted ?? 0) >= batch
    })
  )
  yield* Effect.repeat(prune, { while: (more) => more, times: batches })
  return deleted
})

/** The job that deletes old entries every hour. */
export const layerAuditRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const days = yield* auditDays
    if (days === 0) return
    const sql = yield* SqlClient.SqlClient
    yield* (yield* OwnJobs).add({
      name: "audit.retention",
      summary: `Deletes entries of the audit that are older than ${days} days`,
      times: "11 * * * *",
      timeout: 3_600,
      catchUp: true,
      run: () =>
        onOwnTables(Effect.provideService(pruneAudit(days), SqlClient.SqlClient, sql)).pipe(
          Effect.map((count) => (count === 0 ? undefined : `${count} entries deleted`))
        )
    })
  })
)
