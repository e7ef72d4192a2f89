import { Effect } from "effect"
import { DatabaseError as ServerError } from "pg"
import { type SqlState } from "../../../domain/codes/ErrorCode.ts"
import { DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { sqlResultTooLarge } from "../../../domain/sql/Result.ts"
import { statusOfOwnSql } from "../../../domain/sql/States.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { hintOf } from "../Errors.ts"
import { type SqlConnection } from "./Connection.ts"
import { type Done } from "./InFlightQuery.ts"

/** The place in a CSV, as PostgreSQL's context names it: `COPY t, line 3, column a: "x"`. */
const copyPlace = /^COPY .*?, (line \d+(?:, column [^:]*)?)/

/**
 * The driver's error as an API error. Only the end of our own session (57P0x, or a socket error) means that the database
 * is unreachable: classes 08 and 53 may be about a server that the statement itself connected to.
 */
const asApiError = (failure: unknown): DatabaseError | Unavailable => {
  if (!(failure instanceof ServerError)) return databaseUnreachable()
  const { code = "XX000", message, detail, hint, position, where } = failure
  if (code.startsWith("57P0")) return databaseUnreachable()
  return new DatabaseError({
    error: message,
    code: code as SqlState,
    status: statusOfOwnSql(code, message),
    details: detailed(where, detail),
    hint: hintOf(code, message, hint ?? null),
    ...(position === undefined ? {} : { position: Number(position) })
  })
}

const detailed = (where: string | undefined, detail: string | undefined) => {
  const place = where === undefined ? undefined : copyPlace.exec(where)?.[1]
  if (place === undefined) return detail ?? null
  return detail === undefined ? place : `${place}: ${detail}`
}

/** Submits one query to the connection. When interrupted, it waits until PostgreSQL has ended the statement. */
export const submit = <A>(
  connection: SqlConnection,
  send: (done: Done<A>) => void
): Effect.Effect<A, DatabaseError | Unavailable> =>
  Effect.callback((resume) => {
    let ended = false
    let whenEnded = () => {}
    connection.startCounting()
    connection.overflow = () => {
      connection.abandon()
      resume(Effect.fail(sqlResultTooLarge()))
    }
    send((result, failure) => {
      ended = true
      connection.overflow = undefined
      resume(result === undefined ? Effect.fail(asApiError(failure)) : Effect.succeed(result))
      whenEnded()
    })
    return Effect.callback<void>((resume) => {
      // The cancel request may arrive late and hit a later statement, so this connection must not be reused.
      connection.dead = true
      const over = () => {
        connection.abandon()
        resume(Effect.void)
      }
      if (ended) over()
      else {
        whenEnded = over
        connection.cancel(() => !ended, over)
      }
    })
  })
