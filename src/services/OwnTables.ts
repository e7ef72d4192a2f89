import { Effect, Schema } from "effect"
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

/** SQLSTATEs of a server that is shutting down, starting, out of connections, or whose database rejects connections. */
const outage = /^(08|57P0|53|55000)/

/** Whether the database is unreachable, as opposed to the statement being wrong. */
export const isOutage = (error: unknown): boolean =>
  SqlError.isSqlError(error) && (error.reason._tag === "ConnectionError" || outage.test(sqlStateOf(error)))

export const databaseUnreachable = () =>
  new Unavailable({ error: "The database is unreachable; retry later", code: "DATABASE_UNAVAILABLE" })

/** What fails on the service's own tables and is not for callers to see. */
export type OwnTablesFailure = SqlError.SqlError | Schema.SchemaError

/** Errors by the SQLSTATE that they are made for, each from PostgreSQL's message. */
type Refusals = Readonly<Record<string, (message: string) => ClientError>>

/**
 * For statements on the service's own tables. An unreachable database is a 503; a SQLSTATE that `refusals` lists becomes
 * its error; any other failed statement, or a row that its schema rejects, is a defect (500, its cause in the log only).
 * Other errors of the effect pass.
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
    return isOutage(error) ? fail(databaseUnreachable()) : Effect.die(error)
  })

/** Queries whose rows are decoded by a schema. */
export const queryRows =
  <Row extends Schema.Constraint>(sql: SqlClient.SqlClient, Result: Row) =>
  (text: string, params: ReadonlyArray<unknown> = []) =>
    SqlSchema.findAll({ Request: Schema.Void, Result, execute: () => sql.unsafe(text, params) })()
