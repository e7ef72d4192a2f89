import { type Cause, Effect, Schema } from "effect"
import { type SqlClient, SqlError, SqlSchema } from "effect/sql"
import { type ClientError, Unavailable } from "../domain/errors.ts"

const causeOf = (error: unknown) =>
  (SqlError.isSqlError(error) ? error.reason.cause : undefined) as
    | { readonly code?: unknown; readonly message?: unknown }
    | undefined

/** The SQLSTATE of a failed statement; "" for any other failure. */
export const sqlStateOf = (error: unknown): string => {
  const code = causeOf(error)?.code
  return typeof code === "string" ? code : ""
}

/** SQLSTATEs of a server that is shutting down, starting, out of connections, or a standby, or whose database rejects connections. */
const outage = /^(08|57P0|53|55000|25006)/

/** Whether the database is unreachable, as opposed to the statement being wrong. */
export const isOutage = (error: unknown): boolean =>
  SqlError.isSqlError(error) && (error.reason._tag === "ConnectionError" || outage.test(sqlStateOf(error)))

export const databaseUnreachable = () =>
  new Unavailable({ error: "The database is unreachable; retry later", code: "DATABASE_UNAVAILABLE" })

/** The error for a statement on the service's own tables that would have succeeded at another time. */
const temporary = (error: unknown): Unavailable | undefined => {
  const state = sqlStateOf(error)
  if (state === "57014")
    return new Unavailable({
      error: "The database took over 30 s for the service's own tables; retry later",
      code: "DATABASE_BUSY",
      hint: "Look for locks on tables of schema svc, and at the database's disk",
      retry_after: 10
    })
  // Our own statements look for what they refer to, so a missing row (23503) was deleted meanwhile.
  if (["40P01", "40001", "23503"].includes(state))
    return new Unavailable({
      error: "The change collided with another one and was not made; retry",
      code: "DATABASE_BUSY",
      retry_after: 1
    })
  if (state === "53100")
    return new Unavailable({
      error: "The database's disk is full",
      code: "DATABASE_NO_SPACE",
      hint: "Free some space on the disk of PostgreSQL",
      retry_after: 10
    })
  return isOutage(error) ? databaseUnreachable() : undefined
}

/** Failures on the service's own tables, which callers must not see. */
export type OwnTablesFailure = SqlError.SqlError | Schema.SchemaError

/** Errors by the SQLSTATE that they are made for, each from PostgreSQL's message. */
type Refusals = Readonly<Record<string, (message: string) => ClientError>>

/**
 * Runs statements on the service's own tables. An unreachable, full or slow database is a 503; a SQLSTATE that
 * `refusals` lists becomes its error; any other failed statement, or a row that its schema rejects, is a defect (500,
 * its cause in the log only). Other errors of the effect pass.
 */
export const onOwnTables = <A, E, R, const Known extends Refusals = {}>(
  effect: Effect.Effect<A, E, R>,
  refusals?: Known
): Effect.Effect<A, Exclude<E, OwnTablesFailure> | ReturnType<Known[keyof Known]> | Unavailable, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, never> => {
    const fail = (failure: unknown) => Effect.fail(failure as never)
    if (Schema.isSchemaError(error)) return Effect.die(error)
    if (!SqlError.isSqlError(error)) return fail(error)
    const refusal = refusals?.[sqlStateOf(error)]
    if (refusal !== undefined) return fail(refusal(String(causeOf(error)?.message ?? "")))
    const unavailable = temporary(error)
    return unavailable === undefined ? Effect.die(error) : fail(unavailable)
  })

/** Logs a failure of background work: in one line if the database is unreachable, else with its cause. */
export const logFailure =
  (what: string) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
    const outage = cause.reasons.some(
      (reason) =>
        reason._tag === "Fail" && (isOutage(reason.error) || (reason.error as Unavailable)._tag === "Unavailable")
    )
    return outage ? Effect.logWarning(`${what}: the database is unreachable`) : Effect.logError(what, cause)
  }

/** Queries whose rows are decoded by a schema. */
export const queryRows =
  <Row extends Schema.Constraint>(sql: SqlClient.SqlClient, Result: Row) =>
  (text: string, params: ReadonlyArray<unknown> = []) =>
    SqlSchema.findAll({ Request: Schema.Void, Result, execute: () => sql.unsafe(text, params) })()
