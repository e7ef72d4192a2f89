import { quoteName } from "./Names.ts"

const signals = "pg_catalog.pg_cancel_backend(integer), pg_catalog.pg_terminate_backend(integer, bigint)"

/**
 * Takes the functions that cancel statements and end sessions from PUBLIC. All anonymous callers have one login, to which
 * a function that they call can return with SET ROLE NONE, and a login may signal its own sessions.
 */
export const signalsSql = (roles: ReadonlyArray<string>): ReadonlyArray<string> => [
  `revoke execute on function ${signals} from public`,
  `grant execute on function ${signals} to ${["pg_signal_backend", ...roles.map(quoteName)].join(", ")}`
]

/** Whether PUBLIC may signal sessions in the current database. */
export const publicSignalsSql = `select from pg_catalog.pg_proc p
  where p.oid in ('pg_cancel_backend(integer)'::regprocedure, 'pg_terminate_backend(integer, bigint)'::regprocedure)
    and pg_catalog.has_function_privilege('public', p.oid, 'execute')`
