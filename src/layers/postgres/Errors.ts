import { type SqlError } from "effect/sql/SqlError"
import { DatabaseError, Unavailable } from "../../domain/errors.ts"
import { raisedAnswer, statusText } from "../../domain/rows/RaisedAnswer.ts"
import { statusOf } from "../../domain/sql/States.ts"
import { databaseUnreachable } from "../../services/OwnTables.ts"

/** The fields of a PostgreSQL ErrorResponse that both drivers hang on their errors. */
interface ServerError {
  readonly severity?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly detail?: unknown
  readonly hint?: unknown
}

const textOrNull = (value: unknown) => (typeof value === "string" && value !== "" ? value : null)

/**
 * SQLSTATEs that say our session is over or was never opened. Class 08 or 58 may be about a server that the statement
 * itself went to (a foreign table): that is the statement's failure.
 */
const isOutage = (sqlState: string) => /^(57P0[1-5]|53300|28)/.test(sqlState)

export const poolExhausted = () =>
  new Unavailable({
    error: "All database connections are busy; try again shortly",
    code: "POOL_EXHAUSTED",
    hint: "SVC_DB_POOL_SIZE sets how many there are"
  })

/** What a driver threw, as one of ours. `anonymous`: the caller sent no JWT (a missing privilege is then 401). */
const fromServerError = (cause: unknown, anonymous: boolean): DatabaseError | Unavailable => {
  const error = (typeof cause === "object" && cause !== null ? cause : {}) as ServerError
  // Node's own errors have a `code` too, but no severity.
  const sqlState = typeof error.severity === "string" && typeof error.code === "string" ? error.code : undefined
  if (sqlState === undefined || isOutage(sqlState)) return databaseUnreachable()
  const message = typeof error.message === "string" ? error.message : "The database refused the statement"
  if (sqlState === "PGRST") {
    return new DatabaseError(raisedAnswer(message, typeof error.detail === "string" ? error.detail : undefined))
  }
  return new DatabaseError({
    error: message,
    code: sqlState,
    status: statusOf(sqlState, message, anonymous),
    details: textOrNull(error.detail),
    hint: textOrNull(error.hint),
    // `PTnnn` of a function: its message goes with the status.
    ...(sqlState.startsWith("PT") && statusText(message))
  })
}

const tooLarge = new DatabaseError({
  error: "The answer is larger than this server sends in one piece",
  code: "RESULT_TOO_LARGE",
  status: 400,
  hint: "Select fewer columns or rows"
})

/** The same for sql-pg, whose errors carry the server's in `reason.cause`. */
export const fromSqlError = (error: SqlError, anonymous: boolean): DatabaseError | Unavailable => {
  const cause: unknown = error.reason.cause
  if (cause instanceof Error && cause.message.includes("exceeds maxMessageSize")) return tooLarge
  return fromServerError(cause, anonymous)
}
