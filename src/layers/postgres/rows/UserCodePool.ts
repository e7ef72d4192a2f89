import { Effect } from "effect"
import { type Command, type RowConnection } from "./Connection.ts"
import { isBloated, type Outcome } from "./Outcome.ts"
import { RowConnectionPool } from "./RowConnectionPool.ts"

/**
 * Returns a session to what it was at its start. Its result is the number of prepared statements made by SQL, and of all.
 * A function, because a call by its oid is neither looked up nor parsed: nothing that user code has left in the session
 * can change what it does, and it takes a third of the time of its statements.
 */
const resetFunction = "svc_ddl.reset_session(double precision)"

export interface UserCodePoolOptions {
  readonly size: number
  readonly open: (onClose: (connection: RowConnection) => void) => Effect.Effect<RowConnection, unknown>
  /** See `BoundedPoolOptions`. */
  readonly isOwed?: ((idle: boolean) => boolean) | undefined
}

export interface TransactionOptions {
  /** The commands begin a transaction, which is rolled back in any case. */
  readonly explicit: boolean
  /** Statements that were prepared in another epoch are not used. */
  readonly epoch: number | undefined
  /** The statement runs no user code, by the catalogue; see `Statement`. */
  readonly clean: boolean
}

interface UserCodeConnection {
  readonly connection: RowConnection
  /** Oid of the reset function. */
  readonly reset: number
}

/**
 * Connections of one database role for statements that may run user code: one request at a time, and a reset behind each.
 * What user code leaves in a session (settings, temporary tables, advisory locks, LISTEN, cursors, prepared statements
 * made or dropped) never meets another request; a connection whose reset fails is closed.
 */
export class UserCodePool extends RowConnectionPool<UserCodeConnection> {
  constructor({ isOwed, open, size }: UserCodePoolOptions) {
    super({
      size,
      isOwed,
      open: (onClose) =>
        Effect.flatMap(open(onClose), (connection) =>
          Effect.map(resetOf(connection), (reset) => ({ connection, reset }))
        )
    })
  }

  /** Runs the commands as one transaction. */
  run(
    client: string,
    commands: ReadonlyArray<Command>,
    { epoch, explicit }: TransactionOptions
  ): Effect.Effect<Outcome, unknown> {
    return this.whole(client, ({ connection: { connection, reset }, drop, give }) =>
      Effect.callback<Outcome>((resume) => {
        if (epoch !== undefined) connection.enter(epoch)
        let bloated = false
        const answered = (outcome: Outcome) => {
          bloated = isBloated(outcome)
          resume(Effect.succeed(outcome))
        }
        if (explicit) {
          connection.send(commands, answered, client)
          connection.send([rollback], () => undefined)
        } else connection.transact(commands, answered, client)
        // Random numbers of the next request must not follow from a seed that user code has chosen.
        connection.call(reset, [String(2 * Math.random() - 1)], ({ failure, results, status }) => {
          const asNew = results[0]?.[0]?.[0] === `0,${connection.preparedCount}`
          if (failure === undefined && status === "I" && asNew && !bloated) give()
          else drop()
        })
        connection.flush()
      })
    )
  }
}

const rollback: Command = { text: "rollback", params: [], prepare: false }

/** The oid of the reset function. Without it no connection can be reused. */
const resetOf = (connection: RowConnection): Effect.Effect<number> =>
  Effect.callback((resume) => {
    const text = "select coalesce(pg_catalog.to_regprocedure($1)::pg_catalog.oid, 0)::text"
    connection.send([{ text, params: [resetFunction], prepare: false }], ({ results }) =>
      resume(Effect.succeed(Number(results[0]?.[0]?.[0] ?? 0)))
    )
    connection.flush()
  })
