import { Effect, Fiber, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { InstallError } from "./Errors.ts"

/** Time for which the installation waits for a lock, and time that it may take. */
export const lockLimits = { lockMillis: 20_000, millis: 60_000 }

/**
 * A statement that waits for a lock on a table stops all later ones on that table, also those of the replicas that serve
 * meanwhile. So the installation waits for half a second at a time, and lets them pass for as long in between. That is
 * less than PostgreSQL's deadlock_timeout, so that of two that block each other, the installation gives way.
 */
export const lockAttempts = (lockMillis: number) => ({
  attemptMillis: Math.min(lockMillis, 500),
  schedule: Schedule.spaced("500 millis"),
  times: Math.floor(lockMillis / 1_000)
})

const holders = `
select pg_catalog.string_agg(pg_catalog.format('process %s (%s, %s%s)', a.pid, a.usename, a.state,
    case when a.application_name <> '' then ', ' || a.application_name end), ', ') as sessions
from (
  select distinct on (a.xact_start, a.pid) a.* from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.granted and l.pid <> pg_backend_pid() and a.xact_start is not null
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.locktype = 'relation' and l.mode in ('AccessExclusiveLock', 'ExclusiveLock') or l.locktype = 'advisory')
  order by a.xact_start, a.pid limit 3) a`

/** Another session holds a lock that the installation needs. */
export const lockedBy = () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql.unsafe<{ sessions: string | null }>(holders)
    const by = row?.sessions == null ? "another session" : row.sessions
    return yield* new InstallError({
      message: `The service's tables can't be installed: a lock on them or on the catalogue is held by ${by}. End that transaction, for example with select pg_terminate_backend(<process>), and start the service again`
    })
  })

/** A session waits without a limit for locks on what PostgreSQL itself reads before it accepts statements. */
export const withinTime =
  (millis: number) =>
  <A, E, R>(installed: Effect.Effect<A, E, R>): Effect.Effect<A, E | InstallError, R> =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkDetach(installed)
      const joined = Effect.onInterrupt(Fiber.join(fiber), () => Effect.forkDetach(Fiber.interrupt(fiber)))
      const done = yield* Effect.timeoutOption(joined, millis)
      if (Option.isSome(done)) return done.value
      return yield* new InstallError({
        message: `PostgreSQL did not let the service install its tables within ${millis / 1000} s. Look in pg_locks for a session that locks the system catalogue, end its transaction, and start the service again`
      })
    })
