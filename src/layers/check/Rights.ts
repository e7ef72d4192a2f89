import { ddlTriggersSql, ddlWatchedSql } from "../../domain/catalogue/DdlSql.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { publicSignalsSql, signalsSql } from "../../domain/sql/Signals.ts"
import { type CheckFinding, wanting } from "./Finding.ts"

/** What a login may do on its server, and what the server allows. */
export interface ServerState {
  readonly me: string
  readonly database: string
  readonly superuser: boolean
  readonly replication: boolean
  /** Whether it may make copies of the database. */
  readonly copies: boolean
  readonly signals_others: boolean
  readonly reads_settings: boolean
  /** Whether service keys see all rows; null if there is no such role. */
  readonly bypasses: boolean | null
  readonly watched: boolean
  /** Whether the function of the event triggers exists. */
  readonly recorded: boolean
  readonly public_signals: boolean
  readonly connections: number
  readonly wal_level: string
  readonly limits_slots: boolean
}

/** `$1`: the role of service keys. */
export const serverStateSql = `select r.rolname::text as me, d.datname::text as database, r.rolsuper as superuser,
  r.rolsuper or r.rolreplication as replication,
  r.rolsuper or r.rolcreatedb and pg_has_role(d.datdba, 'usage') as copies,
  pg_has_role('pg_signal_backend', 'usage') as signals_others, pg_has_role('pg_read_all_settings', 'usage') as reads_settings,
  (select s.rolsuper or s.rolbypassrls from pg_roles s where s.rolname = $1::text) as bypasses,
  ${ddlWatchedSql} as watched, to_regprocedure('svc_ddl.record()') is not null as recorded,
  exists (${publicSignalsSql}) as public_signals,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
  current_setting('wal_level') as wal_level, current_setting('max_slot_wal_keep_size') <> '-1' as limits_slots
  from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()`

const part = "PostgreSQL"
const administrator = "As an administrator"

/** What a login that is no superuser lacks. Without these rights the service starts, and says the same in its log. */
export const missingRights = (state: ServerState, serviceRole: string): ReadonlyArray<CheckFinding> => {
  const [me, service] = [quoteName(state.me), quoteName(serviceRole)]
  const superuser = `As a superuser, in the database ${state.database}`
  const found: Array<CheckFinding> = []
  const lacks = (text: string, by: string, ...statements: ReadonlyArray<string>) =>
    found.push(wanting(part, text, by, statements))
  if (state.bypasses === false) {
    lacks(
      `Service keys see only the rows that policies allow ${serviceRole}`,
      administrator,
      `alter role ${service} bypassrls`
    )
  }
  if (state.superuser) return found
  if (!state.watched) {
    const slow =
      "Reads take 33–50 % more processor time, and standbys get none, because no event triggers report changes of definitions"
    if (state.recorded) lacks(slow, superuser, ...ddlTriggersSql)
    else found.push(wanting(part, `${slow}. svc grants prints the SQL for a superuser`))
  }
  if (state.public_signals) {
    lacks(
      "Functions that anonymous callers call can cancel statements of others and end their connections",
      superuser,
      ...signalsSql([...new Set([state.me, serviceRole])])
    )
  }
  if (!state.copies) {
    lacks(
      "Branches and restores are 403 BRANCH_NOT_ALLOWED: the login may not create databases, or does not own its own",
      administrator,
      `alter role ${me} createdb`,
      `alter database ${quoteName(state.database)} owner to ${me}`
    )
  }
  if (!state.signals_others) {
    lacks(
      "Sessions of other applications can't be ended for a branch",
      administrator,
      `grant pg_signal_backend to ${me}`
    )
  }
  if (!state.reads_settings) {
    lacks(
      "The disk of a server on this machine can't be checked before a branch",
      administrator,
      `grant pg_read_all_settings to ${me}`
    )
  }
  return found
}
