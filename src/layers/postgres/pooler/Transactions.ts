import { type PgConnection, type PgPool } from "@effect/sql-pg"
import { Effect, Exit, Stream } from "effect"
import { type SqlError } from "effect/sql"
import { quoteLiteral } from "../../../domain/sql/Names.ts"

/*
 * A pooler gives each transaction any of its sessions, with whatever transactions before have left in it: those of other
 * callers, and of other programs that use the same login. So what is sent through a pooler is always one transaction, which
 * first makes its session new. PostgreSQL skips the rest of a transaction when that fails.
 */

/** Begins a transaction, whatever default of its mode a transaction before has set. */
export const beginSql = "begin isolation level read committed read write not deferrable"

/**
 * Runs first in the transaction: roles that are left may lack the right to call what follows, and prepared statements can be
 * seen by later callers. Statements of the service have no names behind a pooler, so that none can be replaced.
 */
export const resetSql = ["reset session authorization", "reset role", "deallocate all"] as const

/** A seed that no code has chosen. */
export const newSeed = () => String(2 * Math.random() - 1)

/**
 * Resets the session, and then chooses the settings of this transaction. The subquery is evaluated first: PostgreSQL
 * neither flattens one with OFFSET, nor removes a volatile function from it. The application's name stays, by which the
 * sessions that a pooler keeps are recognised. `seed`: of random(), as SQL.
 */
export const newSessionSql = (settings: Readonly<Record<string, string>>, seed = "$1"): string => {
  const all = { client_encoding: "UTF8", ...settings }
  const calls = Object.entries(all).map(
    ([name, value]) =>
      `pg_catalog.set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, ${name !== "application_name"})`
  )
  return `select ${calls.join(", ")} from (select svc_ddl.reset_session(${seed}) as counts offset 0) reset where counts is not null`
}

/** Resets the session behind a transaction. */
export const oldSessionSql = (seed?: string) => newSessionSql({ application_name: "svc" }, seed)

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
