import { type Actor } from "../../../services/ports/Db.ts"
import { type Meters } from "../../../services/metrics/Meters.ts"

/** ms from which a statement is slow, waiting for a connection included. */
const slowMillis = 1_000

/** Why a statement ran again; see svc_db_statements_retried_total. */
const reasons = ["late", "unproven", "stale"] as const

/** Counts the statements of one role. */
export const makeStatementCounts = (meters: Meters, role: Actor["role"]) => {
  const all = meters.counter("svc_db_statements_total", { role })
  const slow = meters.counter("svc_db_statements_slow_total", { role })
  const retried = (reason: (typeof reasons)[number]) =>
    meters.counter("svc_db_statements_retried_total", { role, reason })
  return {
    /** `begun`: when it was asked for, by `performance.now`. */
    ended: (begun: number) => {
      all()
      if (performance.now() - begun >= slowMillis) slow()
    },
    late: retried("late"),
    unproven: retried("unproven"),
    stale: retried("stale")
  }
}
export type StatementCounts = ReturnType<typeof makeStatementCounts>
