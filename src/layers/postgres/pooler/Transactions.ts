import { type PgConnection, type PgPool } from "@effect/sql-pg"
import { Effect, Exit, Stream } from "effect"
import { type SqlError } from "effect/sql"
import { beginSql, newSeed, newSessionSql } from "./NewSession.ts"

type Queries = Pick<PgConnection.PgConnection, "query" | "queryValues" | "stream">

/** The statement with which `SqlClient` begins a transaction. */
const begins = "BEGIN"

/**
 * Statements of the service's own through a pooler, each in a transaction that makes its session new first. That this has
 * succeeded is known before the statement is sent, and the pooler cannot change the session until the transaction ends.
 */
export const transactions = (settings: Readonly<Record<string, string>>) => {
  const newSession = newSessionSql(settings)

  const begin = (connection: PgConnection.PgConnection, pool: PgPool.PgPool) =>
    Effect.andThen(
      connection.query(beginSql, [], false),
      // Closed without a rollback: when a client leaves within a transaction, the pooler closes the session.
      Effect.onError(connection.query(newSession, [newSeed()], false), () =>
        Effect.forkDetach(pool.invalidate(connection))
      )
    )

  /** A statement as a transaction of its own. */
  const each = (connection: PgConnection.PgConnection, pool: PgPool.PgPool): Queries => {
    const inTransaction = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          yield* begin(connection, pool)
          const exit = yield* Effect.exit(restore(statement))
          if (Exit.isSuccess(exit)) yield* connection.query("commit", [], false)
          else yield* Effect.ignore(connection.query("rollback", [], false))
          return yield* exit
        })
      )
    return {
      query: (text, params) => inTransaction(connection.query(text, params, false)),
      queryValues: (text, params) => inTransaction(connection.queryValues(text, params, false)),
      // A stream could outlive its session.
      stream: () => Stream.die("Streams need a connection of their own: use reserve")
    }
  }

  /** The statements of one transaction, which begins with `BEGIN`. */
  const whole = (connection: PgConnection.PgConnection, pool: PgPool.PgPool): Queries => ({
    query: (text, params) => (text === begins ? begin(connection, pool) : connection.query(text, params, false)),
    queryValues: (text, params) => connection.queryValues(text, params, false),
    stream: connection.stream
  })

  return { each, whole }
}
