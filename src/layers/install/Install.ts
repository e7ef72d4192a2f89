import { Effect, Fiber, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { ddlTriggersSql } from "../../domain/catalogue/DdlSql.ts"
import { installLock } from "../../domain/sql/AdvisoryLocks.ts"
import { sqlStateOf } from "../../services/OwnTables.ts"
import { version } from "../../domain/Version.ts"
import { installAuthHelpers } from "./AuthHelpers.ts"
import { callersOnWorkers, keepLocal } from "./Citus.ts"
import { InstallError, needs } from "./Errors.ts"
import { hookRole } from "./HookRole.ts"
import { grantSchema } from "./SchemaGrants.ts"
import { type OwnSchema, migrate } from "./Migrate.ts"
import { migrations } from "./OwnMigrations.ts"
import { type InstallOptions, checkPrivileges, restrictSignals } from "./Privileges.ts"
import { assistantRole, authenticator, callerRoles, eventsRole } from "./Roles.ts"
import { giveQueues } from "./queues/Rights.ts"
import { installSupabase } from "./supabase/Install.ts"

/** Time for which the installation waits for a lock, and time that it may take. */
const lockLimits = { lockMillis: 20_000, millis: 60_000 }

/**
 * A statement that waits for a lock on a table stops all later ones on that table, also those of the replicas that serve
 * meanwhile. So the installation waits for half a second at a time, and lets them pass for as long in between. That is
 * less than PostgreSQL's deadlock_timeout, so that of two that block each other, the installation gives way.
 */
const lockAttempts = (lockMillis: number) => ({
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
const lockedBy = () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql.unsafe<{ sessions: string | null }>(holders)
    const by = row?.sessions == null ? "another session" : row.sessions
    return yield* new InstallError({
      message: `The service's tables can't be installed: a lock on them or on the catalogue is held by ${by}. End that transaction, for example with select pg_terminate_backend(<process>), and start the service again`
    })
  })

/** A session waits without a limit for locks on what PostgreSQL itself reads before it accepts statements. */
const withinTime =
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

/**
 * Installs what is missing, at every start: schema `svc` and its tables, the roles `anon`, `authenticated` and
 * `svc_authenticator`, their grants, and, if the login is a superuser, the event triggers that report DDL.
 */
export const install = (
  options: InstallOptions,
  { lockMillis, millis } = lockLimits,
  schema: OwnSchema = { migrations, version }
) => {
  const { attemptMillis, ...attempts } = lockAttempts(lockMillis)
  return Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${installLock}::text::bigint)`
        yield* sql.unsafe(`set local lock_timeout = '${attemptMillis}ms'`)
        yield* checkServer(sql)
        yield* checkPrivileges(sql, options)
        const citus = yield* keepLocal(sql)
        const there = yield* sql`select from pg_namespace where nspname = 'svc'`
        if (there.length === 0) {
          yield* needs(sql, "create schema svc", "CREATE on the database")
          yield* sql.unsafe("revoke all on schema svc from public")
        }
        yield* migrate(sql, schema)
        yield* callerRoles(sql, options.serviceRole)
        if (citus) yield* callersOnWorkers(sql)
        yield* eventsRole(sql)
        const login = yield* authenticator(sql)
        for (const schema of options.schemas) {
          if (yield* grantSchema(sql, schema, options.serviceRole)) continue
          yield* Effect.logWarning(
            `Schema ${schema} of SVC_DB_SCHEMAS does not exist: its paths are 404 until it is created`
          )
        }
        yield* giveQueues(sql, options.serviceRole)
        yield* installAuthHelpers(sql, options.serviceRole)
        if (options.supabase === true) yield* installSupabase(sql, options, login.authenticator)
        if (options.hooks === true) yield* hookRole(sql, options.serviceRole)
        yield* eventTriggers(sql)
        yield* restrictSignals(sql, options.serviceRole)
        const assistant = options.assistant === true ? yield* assistantRole(sql, options.serviceRole) : undefined
        return { ...login, citus, ...(assistant && { assistant }) }
      })
    )
  }).pipe(
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 20, while: isConcurrentInstall }),
    Effect.retry({ ...attempts, while: isLocked }),
    Effect.catchIf((error) => isLocked(error) || sqlStateOf(error) === "57014", lockedBy),
    withinTime(millis)
  )
}

/**
 * Whether another service was creating the same roles: they belong to the server, but the advisory lock to the database.
 * 23505 and 42710: a role was created meanwhile. XX000: its catalogue row was changed meanwhile ("tuple concurrently
 * updated").
 */
const isConcurrentInstall = (error: unknown) => ["23505", "42710", "XX000"].includes(sqlStateOf(error))

/** The wait for a lock took too long, or would never have ended. */
const isLocked = (error: unknown) => ["55P03", "40P01"].includes(sqlStateOf(error))

const checkServer = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [row] = yield* sql<{ v: string }>`select current_setting('server_version_num') as v`
    if (Number(row?.v) < 150_000) {
      return yield* new InstallError({
        message: `PostgreSQL 15 or newer is required; the server's version number is ${row?.v}`
      })
    }
    return undefined
  })

/** Records DDL and notifies all replicas of it. Without it, an unknown table is looked up again. */
const eventTriggers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ superuser: boolean; there: boolean }>`
      select coalesce((select rolsuper from pg_roles where rolname = current_user), false) as superuser,
             (select count(*) = 2 from pg_event_trigger
              where evtname in ('svc_ddl', 'svc_ddl_drop') and evtfoid = 'svc_ddl.record()'::regprocedure) as there`
    if (!state?.superuser || state.there) return
    for (const text of ddlTriggersSql) yield* sql.unsafe(text)
    yield* sql.unsafe("drop function if exists svc.notify_ddl()")
  })
