import { Clock, Effect } from "effect"
import { Forbidden, Unavailable } from "../../domain/errors.ts"
import { isCitusSql } from "../../domain/sql/Citus.ts"
import { backupsLock, migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { NotCopyable } from "../../services/ports/BranchDatabases.ts"
import { noSpace } from "./FreeSpace.ts"
import { type QueryFailed, type DirectConnection } from "../postgres/client/DirectConnection.ts"

export const sourceBusy = (details: string, hint: string) =>
  new Unavailable({
    error: "The database is in use and can't be copied at the moment",
    code: "BRANCH_SOURCE_BUSY",
    details,
    hint,
    retry_after: 10
  })

const notAllowed = (details: string, hint: string) =>
  new Forbidden({
    error: "The service's database login is not allowed to create branches",
    code: "BRANCH_NOT_ALLOWED",
    details,
    hint
  })

/** Fails for a Citus cluster, whose rows are in other servers' databases too. */
export const checkCopyable = Effect.fnUntraced(function* (main: DirectConnection) {
  const [row] = yield* main.query(`select ${isCitusSql} as citus`)
  if (row?.["citus"] === true) return yield* new NotCopyable()
  return undefined
})

/** Fails when the service's login lacks a right, before any client has to wait. */
export const checkRights = Effect.fnUntraced(function* (main: DirectConnection) {
  const [row] = yield* main.query(
    `select quote_ident(current_user) as me, quote_ident(current_database()) as database, rolsuper as super,
            rolcreatedb as createdb, rolcreaterole as createrole,
            (select pg_has_role(datdba, 'member') from pg_database where datname = current_database()) as owner
     from pg_roles where rolname = current_user`
  )
  if (row === undefined || row["super"] === true) return undefined
  const { database, me } = row
  if (row["createdb"] !== true) return yield* notAllowed("It lacks CREATEDB", `alter role ${me} createdb;`)
  if (row["createrole"] !== true) return yield* notAllowed("It lacks CREATEROLE", `alter role ${me} createrole;`)
  if (row["owner"] !== true) {
    return yield* notAllowed("It does not own the database", `alter database ${database} owner to ${me};`)
  }
  return undefined
})

/** Locks of work that must not run during a copy, and what it is called. */
export const copyLocks = [
  { lock: migrationsLock, work: "Migrations are running" },
  { lock: backupsLock, work: "The database is being backed up" }
] as const

export const unlock = (main: DirectConnection, locks: ReadonlyArray<{ readonly lock: string }>) =>
  Effect.forEach(locks, ({ lock }) => main.query(`select pg_advisory_unlock(${lock})`), { discard: true })

/** Takes `copyLocks`, all at once so that nothing waits for a lock whose holder waits for another. */
export const whenFree = Effect.fnUntraced(function* (main: DirectConnection) {
  const until = (yield* Clock.currentTimeMillis) + quietMillis
  for (;;) {
    const [row] = yield* main.query(
      `select ${copyLocks.map(({ lock }, at) => `pg_try_advisory_lock(${lock}) as "${at}"`).join(", ")}`
    )
    const held = copyLocks.find((_, at) => row?.[at] !== true)
    if (held === undefined) return undefined
    yield* unlock(
      main,
      copyLocks.filter((_, at) => row?.[at] === true)
    )
    if ((yield* Clock.currentTimeMillis) > until) return yield* sourceBusy(held.work, "Try again when that is done")
    yield* Effect.sleep("250 millis")
  }
})

/** How long to wait for running work and long statements to end, before new ones are paused, in ms. */
const quietMillis = 30_000
/** The running time in seconds from which a statement counts as long. */
const longSeconds = 1

/**
 * Waits until no statement of the service in this database is long-running, because every client waits for it once new
 * ones are paused. Fails at once for what would not end by waiting.
 */
export const whenQuiet = Effect.fnUntraced(function* (main: DirectConnection, endSessions: boolean) {
  const until = (yield* Clock.currentTimeMillis) + quietMillis
  for (;;) {
    const [row] = yield* main.query(
      `select (select count(*) from pg_prepared_xacts where database = current_database())::int as prepared,
              string_agg(distinct name, ', ') filter (where not ours) as others,
              string_agg(distinct name, ', ') filter (where not ours and ${notEndable}) as stuck,
              count(*) filter (where ours and state <> 'idle' and xact_start < now() - interval '${longSeconds} s')::int as long
       from (${sessionsSql}) s`
    )
    if (row === undefined) return undefined
    if (Number(row["prepared"]) > 0) {
      return yield* sourceBusy(
        "There are prepared transactions",
        "Commit or roll back the transactions in pg_prepared_xacts"
      )
    }
    if (!endSessions && row["others"] !== null) {
      return yield* sourceBusy(
        `Other sessions: ${String(row["others"])}`,
        "Close them, or let the service end them: SVC_BRANCH_END_SESSIONS=true"
      )
    }
    if (row["stuck"] !== null) {
      return yield* sourceBusy(
        `Sessions that the service's database login is not allowed to end: ${String(row["stuck"])}`,
        "Close them, or grant pg_signal_backend to the login"
      )
    }
    if (Number(row["long"]) === 0) return undefined
    if ((yield* Clock.currentTimeMillis) > until) {
      return yield* sourceBusy(
        "A statement of this service has been running for over 30 s",
        "Try again when it has ended"
      )
    }
    yield* Effect.sleep("100 millis")
  }
})

/**
 * Sessions in this database, except those that create branches. `ours`: of this service, or another one on the same
 * database. A login that is not a superuser sees that other sessions exist, but not what they do.
 */
export const sessionsSql = `select pid, usesysid, state, xact_start,
    application_name ~ '^svc( rows| sql| listener| policies)?$' as ours,
    coalesce(nullif(application_name, ''), usename, backend_type) as name
  from pg_stat_activity
  where datname = current_database() and application_name <> 'svc branches'
    and usesysid is not null and coalesce(backend_type, 'client backend') in ('client backend', 'walsender')`

/** Whether the service's login is not allowed to end a session of `sessionsSql`. */
const notEndable = `not exists (
  select from pg_roles me, pg_roles other
  where me.rolname = current_user and other.oid = usesysid
    and (me.rolsuper or not other.rolsuper
         and (pg_has_role(other.oid, 'usage') or pg_has_role('pg_signal_backend', 'usage'))))`

/** The error for the SQLSTATE of a failed copy; undefined for other SQLSTATEs. */
export const copyFailure = ({ code, message }: QueryFailed): Forbidden | Unavailable | undefined => {
  if (code === "55006") return sourceBusy(message, "Try again when the other sessions have ended")
  if (code === "53100") return noSpace(message)
  if (code === "42501") return notAllowed(message, "It must own the database and have CREATEDB and CREATEROLE")
  if (code === "57014") {
    return new Unavailable({
      error: "The copy took longer than SVC_BRANCH_TIMEOUT",
      code: "BRANCH_TIMEOUT",
      hint: "Raise SVC_BRANCH_TIMEOUT",
      retry_after: 60
    })
  }
  return undefined
}
