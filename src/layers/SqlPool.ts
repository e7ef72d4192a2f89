import { Effect } from "effect"
import { type Unavailable } from "../domain/errors.ts"
import { type Login } from "./Login.ts"
import { databaseDown, poolExhausted } from "./PostgresErrors.ts"
import { SqlConnection, type SqlConnectionOptions } from "./SqlConnection.ts"

export interface SqlPoolOptions extends SqlConnectionOptions {
  readonly poolSize: number
}

/** How long a request waits for a connection before it is told to come back. */
const waitMillis = 4_000

/** Undefined: no connection came free, but room for a new one. */
type Waiter = (connection: SqlConnection | undefined) => void

/**
 * Connections for any statement, opened when they are needed and cleaned when they come back. One that ends, as all do
 * when PostgreSQL restarts, is forgotten at once, so that the next request opens a new one.
 */
export class SqlPool {
  private readonly idle: Array<SqlConnection> = []
  private readonly waiters: Array<Waiter> = []
  private open = 0
  private closed = false
  private told = false
  private readonly login: Login
  private readonly options: SqlPoolOptions

  constructor(login: Login, options: SqlPoolOptions) {
    this.login = login
    this.options = options
  }

  /**
   * A clean connection of one's own, to be handed to `release` afterwards. To be run uninterruptibly, so that none gets
   * lost on the way; waiting can be interrupted all the same.
   */
  readonly take: Effect.Effect<SqlConnection, Unavailable> = Effect.suspend(() => {
    if (this.closed) return Effect.fail(databaseDown())
    const connection = this.idle.pop()
    if (connection !== undefined) return Effect.succeed(connection)
    if (this.open < this.options.poolSize) {
      this.open++
      return this.connect
    }
    return Effect.flatten(this.turn)
  })

  /** Gives a connection, or the effect of opening one on a slot that came free. */
  private readonly turn: Effect.Effect<Effect.Effect<SqlConnection, Unavailable>, Unavailable> = Effect.suspend(() => {
    // Given, but not yet in the hands of who asked for it.
    let given: { readonly connection: SqlConnection | undefined } | undefined
    const wait = Effect.callback<Effect.Effect<SqlConnection, Unavailable>, Unavailable>((resume) => {
      const waiter: Waiter = (connection) => {
        clearTimeout(timer)
        given = { connection }
        resume(Effect.succeed(connection === undefined ? this.connect : Effect.succeed(connection)))
      }
      const forget = () => {
        clearTimeout(timer)
        const at = this.waiters.indexOf(waiter)
        if (at >= 0) this.waiters.splice(at, 1)
      }
      const timer = setTimeout(() => {
        forget()
        resume(Effect.fail(poolExhausted()))
      }, waitMillis)
      this.waiters.push(waiter)
      return Effect.sync(forget)
    })
    return Effect.onInterrupt(Effect.interruptible(wait), () =>
      Effect.sync(() => {
        if (given?.connection) this.give(given.connection)
        else if (given) this.freeSlot()
      })
    )
  })

  /** Opens a connection on a slot that is taken already, and frees the slot if it can't. */
  private readonly connect: Effect.Effect<SqlConnection, Unavailable> = Effect.suspend(() => {
    const connection = new SqlConnection(this.login, this.options, this.lost)
    return Effect.interruptible(connection.open).pipe(
      Effect.tapError((cause) => this.tell(cause)),
      Effect.mapError(databaseDown),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Success") this.told = false
          else {
            connection.abandon()
            this.freeSlot()
          }
        })
      ),
      Effect.as(connection)
    )
  })

  /** One line an outage, not one a request. */
  private tell(cause: unknown) {
    if (this.told) return Effect.void
    this.told = true
    return Effect.logWarning("No connection to the database", cause)
  }

  /** Takes a connection back, cleans it while nobody waits for that, and gives it to the next. */
  readonly release = (connection: SqlConnection): void => {
    if (connection.dead || this.closed) {
      this.drop(connection)
      return
    }
    connection.reset((clean) => {
      if (clean) this.give(connection)
      else this.drop(connection)
    })
  }

  /** Closes what is idle; what is in use when it comes back. */
  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.closed = true
    for (const connection of this.idle.splice(0)) connection.close()
  })

  /** The socket of an idle connection went away. One that is in use is dropped when it comes back. */
  private readonly lost = (connection: SqlConnection): void => {
    const at = this.idle.indexOf(connection)
    if (at < 0) return
    this.idle.splice(at, 1)
    this.drop(connection)
  }

  private give(connection: SqlConnection) {
    if (connection.dead || this.closed) {
      this.drop(connection)
      return
    }
    const waiter = this.waiters.shift()
    if (waiter) waiter(connection)
    else this.idle.push(connection)
  }

  private drop(connection: SqlConnection) {
    connection.close()
    this.freeSlot()
  }

  private freeSlot() {
    const waiter = this.waiters.shift()
    if (waiter) waiter(undefined)
    else this.open--
  }
}
