import { Effect, type Scope } from "effect"
import { DatabaseError as ServerError } from "pg"
import { DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { resultTooLarge } from "../../../domain/sql/Result.ts"
import { statusOfOwnSql } from "../../../domain/sql/States.ts"
import { type Actor } from "../../../services/ports/Db.ts"
import { type TypedSession } from "../../../services/sql/SqlRunner.ts"
import { type Login } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { type SqlConnection } from "./Connection.ts"
import { SqlPool, type SqlPoolOptions } from "./Pool.ts"
import { ParametersQuery, RowsQuery, ScriptQuery } from "./Queries.ts"
import { type Done, type Follower } from "./InFlightQuery.ts"

/**
 * The driver's error as an API error. Only the end of our own session (57P0x, or a socket error) means that the database
 * is unreachable: classes 08 and 53 may be about a server that the statement itself connected to.
 */
const asApiError = (failure: unknown): DatabaseError | Unavailable => {
  if (!(failure instanceof ServerError)) return databaseUnreachable()
  const { code = "XX000", message, detail, hint, position } = failure
  if (code.startsWith("57P0")) return databaseUnreachable()
  return new DatabaseError({
    error: message,
    code,
    status: statusOfOwnSql(code, message),
    details: detail ?? null,
    hint: hint ?? null,
    ...(position === undefined ? {} : { position: Number(position) })
  })
}

/** Submits one query to the connection. When interrupted, it waits until PostgreSQL has ended the statement. */
const submit = <A>(
  connection: SqlConnection,
  send: (done: Done<A>) => void
): Effect.Effect<A, DatabaseError | Unavailable> =>
  Effect.callback((resume) => {
    let ended = false
    let whenEnded = () => {}
    connection.startCounting()
    connection.overflow = () => {
      connection.abandon()
      resume(Effect.fail(resultTooLarge()))
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
        // If the statement still runs some time after the cancel request, the connection is closed.
        connection.cancel(() => {
          const timer = setTimeout(over, cancelTimeoutMillis)
          whenEnded = () => {
            clearTimeout(timer)
            over()
          }
          if (ended) whenEnded()
        })
      }
    })
  })

const cancelTimeoutMillis = 2_000

const session = (connection: SqlConnection): TypedSession => ({
  query: (text, params, rowLimit, last = false) =>
    submit(connection, (done) => {
      const make = (follower?: Follower) =>
        new RowsQuery(text, params, rowLimit, connection.startCounting, done, follower)
      if (last) connection.runLast(make)
      else connection.run(make())
    }),
  parameterTypes: (text) => submit(connection, (done) => connection.run(new ParametersQuery(text, done))),
  script: (text) =>
    Effect.suspend(() => {
      let completed = 0
      const { startCounting } = connection
      return submit<true>(connection, (done) =>
        connection.run(new ScriptQuery(text, { row: startCounting, statement: () => completed++ }, done))
      ).pipe(
        Effect.asVoid,
        Effect.mapError((error) => (error._tag === "DatabaseError" ? failedAt(error, completed) : error))
      )
    })
})

const failedAt = ({ code, details, error, hint, position, status }: DatabaseError, statement_index: number) =>
  new DatabaseError({
    error,
    code,
    status,
    details,
    hint,
    statement_index,
    ...(position === undefined ? {} : { position })
  })

const setClaims =
  "select pg_catalog.set_config('request.jwt.claims', $1, false), pg_catalog.set_config('request.jwt.sub', $2, false)"

/** Opens sessions; see `Database`. */
type OpenSession = (actor: Actor) => Effect.Effect<TypedSession, DatabaseError | Unavailable, Scope.Scope>

/**
 * Exclusive sessions of the service role in one database, for statements of any kind. Each starts clean: with this role,
 * these settings and claims, and nothing of the session before; cleaning happens in the background after the scope has
 * closed. `poolSize` is the maximum of concurrent sessions, `sqlTimeout` in ms.
 */
export const makeSqlSessions = (
  address: Login,
  options: SqlPoolOptions
): Effect.Effect<OpenSession & Pausable & Pick<SqlPool, "isUnused">, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new SqlPool(address, options)),
      (pool) => pool.close
    ),
    (pool) => {
      const taken = Effect.acquireRelease(pool.take, (connection) => Effect.sync(() => pool.release(connection)))
      const opened = Effect.map(taken, session)
      const open: OpenSession = (actor) =>
        actor.claims === "" ? opened : Effect.tap(opened, ({ query }) => query(setClaims, [actor.claims, actor.sub], 1))
      return Object.assign(open, { pause: pool.pause, resume: pool.resume, isUnused: pool.isUnused })
    }
  )
