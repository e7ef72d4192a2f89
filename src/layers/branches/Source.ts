import { Clock, Effect } from "effect"
import { Forbidden, Unavailable } from "../../domain/errors.ts"
import { noSpace } from "./Room.ts"
import { type QueryFailed, type DirectConnection } from "../postgres/DirectConnection.ts"

export const busy = (details: string, hint: string) =>
  new Unavailable({
    error: "The database is in use and can't be copied now",
    code: "BRANCH_SOURCE_BUSY",
    details,
    hint,
    retry_after: 10
  })

const notAllowed = (details: string, hint: string) =>
  new Forbidden({
    error: "The service's database login may not make branches",
    code: "BRANCH_NOT_ALLOWED",
    details,
    hint
  })

/** Refuses where our login lacks a right, before anybody is made to wait. */
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

/** How long to wait for long statements to end before anybody else is made to wait, in ms. */
const quietMillis = 30_000
/** A statement that runs for as long counts as long, in seconds. */
const longSeconds = 1

/**
 * Waits until no statement of ours in the database runs for long, because everybody waits for it once the gate is closed.
 * What can't be waited for is refused at once.
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
      return yield* busy("There are prepared transactions", "Commit or roll back what pg_prepared_xacts lists")
    }
    if (!endSessions && row["others"] !== null) {
      return yield* busy(
        `Sessions of others: ${String(row["others"])}`,
        "Close them, or let the service end them: SVC_BRANCH_END_SESSIONS=true"
      )
    }
    if (row["stuck"] !== null) {
      return yield* busy(
        `Sessions that the service's database login may not end: ${String(row["stuck"])}`,
        "Close them, or grant pg_signal_backend to the login"
      )
    }
    if (Number(row["long"]) === 0) return undefined
    if ((yield* Clock.currentTimeMillis) > until) {
      return yield* busy("A statement of this service runs for over 30 s", "Try again when it has ended")
    }
    yield* Effect.sleep("100 millis")
  }
})

/**
 * Sessions in this database but those of branches' making. `ours`: of this service or another on the same database.
 * What others' sessions are and do is hidden from a login that is no superuser, but not that they are there.
 */
export const sessionsSql = `select pid, usesysid, state, xact_start,
    application_name ~ '^svc( rows| sql| listener)?$' as ours,
    coalesce(nullif(application_name, ''), usename, backend_type) as name
  from pg_stat_activity
  where datname = current_database() and application_name <> 'svc branches'
    and usesysid is not null and coalesce(backend_type, 'client backend') in ('client backend', 'walsender')`

/** Whether our login may not end a session of `sessionsSql`. */
const notEndable = `not exists (
  select from pg_roles me, pg_roles other
  where me.rolname = current_user and other.oid = usesysid
    and (me.rolsuper or not other.rolsuper
         and (pg_has_role(other.oid, 'usage') or pg_has_role('pg_signal_backend', 'usage'))))`

/** SQLSTATEs of a failed copy, as ours; undefined for others. */
export const copyFailure = ({ code, message }: QueryFailed): Forbidden | Unavailable | undefined => {
  if (code === "55006") return busy(message, "Try again when others have left the database")
  if (code === "53100") return noSpace(message)
  if (code === "42501") return notAllowed(message, "It must own the database and have CREATEDB and CREATEROLE")
  if (code === "57014") {
    return new Unavailable({
      error: "The copy took longer than it may keep others waiting",
      code: "BRANCH_TIMEOUT",
      hint: "SVC_BRANCH_TIMEOUT sets how long",
      retry_after: 60
    })
  }
  return undefined
}
