import { type SqlState } from "../../domain/codes/ErrorCode.ts"
import { DatabaseError, Unavailable } from "../../domain/errors.ts"
import { raisedAnswer, statusText } from "../../domain/rows/ResponseSettings.ts"
import { statusOf } from "../../domain/sql/States.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { databaseUnreachable } from "../../services/OwnTables.ts"

/** The fields of a PostgreSQL ErrorResponse, as both drivers copy them to their errors. */
interface ServerError {
  readonly severity?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly detail?: unknown
  readonly hint?: unknown
}

/** PostgreSQL repeats an invalid value as a whole. */
const maxText = 8000
const bounded = (text: string) => shorten(text, maxText)
const textOrNull = (value: unknown) => (typeof value === "string" && value !== "" ? bounded(value) : null)

/**
 * SQLSTATEs by which our session has ended or could not be opened. Classes 08 and 58 are not among them: they may be
 * about a foreign server that the statement used, which is the statement's failure. PostgreSQL sends them as FATAL; an
 * ERROR with one of them was raised by a function.
 */
const isOutage = (sqlState: string, severity: unknown) =>
  severity !== "ERROR" && /^(57P0[1-5]|53300|28|3D)/.test(sqlState)

/** PostgreSQL's hint of an error, to which this service adds where to read about an extension that is missing. */
export const hintOf = (sqlState: string, message: string, given: string | null) => {
  const name = sqlState === "0A000" ? /^extension "(.+)" is not available$/.exec(message)?.[1] : undefined
  if (name === undefined) return given
  const server = name.startsWith("postgis") ? ", such as the image postgis/postgis" : ""
  const added = `Set DATABASE_URL to a PostgreSQL server that has ${shorten(name, 100)}${server}, or see docs/operations.md#extensions for those of the embedded server and how to add others`
  return given === null ? added : `${given} ${added}`
}

/** The remedy for an error without a hint. */
const remedyOf = (sqlState: string, message: string) => {
  const schema = sqlState === "42501" ? /^permission denied for schema (.+)$/.exec(message)?.[1] : undefined
  return schema === undefined
    ? null
    : `As after "drop schema", the role may not use the schema. An administrator grants it: grant usage on schema ${schema} to anon, authenticated; docs/row-level-security.md has the statements for its tables`
}

export const poolExhausted = () =>
  new Unavailable({
    error: "All database connections are in use; retry shortly",
    code: "POOL_EXHAUSTED",
    hint: "SVC_DB_POOL_SIZE sets the number of connections"
  })

/** A statement has not begun: what it names has another definition than when it was planned. */
export const definitionsChanged = () =>
  new Unavailable({
    error: "The database's definitions changed while the request was being planned; nothing was executed",
    code: "DEFINITIONS_CHANGED",
    hint: "Send the request again"
  })

/**
 * A statement was free of user code by the definitions that it was planned with, which changed while it ran: a write was
 * rolled back, and the rows of a read do not count. It is not repeated: by the new ones it may have called functions, which
 * may have had effects outside of the transaction.
 */
export const ranInDoubt = (access: "read" | "write") =>
  new Unavailable({
    error: `The database's definitions changed while the request ran; ${access === "read" ? "its rows were discarded" : "it was rolled back"}`,
    code: "EXECUTION_IN_DOUBT",
    hint: "Send the request again, unless functions of the new definitions may have run and must not run twice"
  })

/** The statement has dropped the prepared statements that were to follow it, so it was rolled back. */
export const droppedPrepared = () =>
  new Unavailable({
    error: "The request's functions dropped the prepared statements of the session (DEALLOCATE); it was rolled back",
    code: "EXECUTION_IN_DOUBT",
    hint: "Send the request again, unless its functions have effects that a rollback does not undo"
  })

/** A driver's error as an API error. `anonymous`: the caller sent no JWT, so a missing privilege is a 401. */
export const fromServerError = (cause: unknown, anonymous: boolean): DatabaseError | Unavailable => {
  const error = (typeof cause === "object" && cause !== null ? cause : {}) as ServerError
  // Node's own errors have a `code` too, but no severity.
  const sqlState = typeof error.severity === "string" && typeof error.code === "string" ? error.code : undefined
  if (sqlState === undefined || isOutage(sqlState, error.severity)) return databaseUnreachable()
  const message = typeof error.message === "string" ? error.message : "The database rejected the statement"
  if (sqlState === "PGRST") {
    return new DatabaseError(raisedAnswer(message, typeof error.detail === "string" ? error.detail : undefined))
  }
  return new DatabaseError({
    error: bounded(message),
    code: sqlState as SqlState,
    status: statusOf(sqlState, message, anonymous),
    details: textOrNull(error.detail),
    hint: hintOf(sqlState, message, textOrNull(error.hint)) ?? remedyOf(sqlState, bounded(message)),
    // `PTnnn` raised by a function: the message becomes the reason phrase.
    ...(sqlState.startsWith("PT") && statusText(message))
  })
}
