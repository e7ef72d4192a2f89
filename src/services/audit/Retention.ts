import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SettingError, integer } from "../../domain/Settings.ts"
import { auditLock } from "../../domain/sql/AdvisoryLocks.ts"
import { logFailure } from "../OwnTables.ts"

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

/** Deletes entries that are older than so many days, one replica at a time. */
export const pruneAudit = Effect.fnUntraced(function* (days: number) {
  const sql = yield* SqlClient.SqlClient
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
      return (row?.deleted ?? 0) >= batch
    })
  )
  yield* Effect.repeat(prune, { while: (more) => more, times: batches })
})

/** Deletes old entries every hour, in the background. */
export const layerAuditRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const days = yield* auditDays
    if (days === 0) return
    yield* Effect.sleep("1 minute").pipe(
      Effect.andThen(
        pruneAudit(days).pipe(
          Effect.catchCause(logFailure("Failed to delete old entries of the audit")),
          Effect.repeat(Schedule.spaced("1 hour"))
        )
      ),
      Effect.forkScoped
    )
  })
)
