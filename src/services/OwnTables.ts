import { Effect } from "effect"
import { type SqlError } from "effect/sql"
import { Unavailable } from "../domain/errors.ts"

/** SQLSTATEs of a server that is going down, starting, out of connections, or whose database lets nobody in. */
const outage = /^(08|57P0|53|55000)/

/** Whether the database is away, rather than the statement wrong. */
export const isOutage = (error: unknown): boolean => {
  const reason = (error as SqlError.SqlError).reason
  const sqlState = (reason?.cause as { readonly code?: unknown } | undefined)?.code
  return reason?._tag === "ConnectionError" || (typeof sqlState === "string" && outage.test(sqlState))
}

/**
 * For statements on our own tables: a database that is away is the caller's to wait for (503); whatever else goes
 * wrong there is ours to fix, a defect (500, its cause in the log only).
 */
export const onOwnTables = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>
): Effect.Effect<A, Unavailable, R> =>
  Effect.catch(effect, (error) =>
    isOutage(error)
      ? Effect.fail(
          new Unavailable({ error: "The database can't be reached at the moment", code: "DATABASE_UNAVAILABLE" })
        )
      : Effect.die(error)
  )
