import { Effect } from "effect"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Login } from "../Login.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { Slots } from "../Slots.ts"
import { SqlConnection, type SqlConnectionOptions } from "./Connection.ts"

export interface SqlPoolOptions extends SqlConnectionOptions {
  readonly poolSize: number
}

/**
 * Connections for any statement, opened when they are needed and cleaned when they come back. One that ends, as all do
 * when PostgreSQL restarts, is forgotten at once, so that the next request opens a new one.
 */
export class SqlPool {
  private told = false
  private readonly slots: Slots<SqlConnection, Unavailable>

  constructor(login: Login, options: SqlPoolOptions) {
    this.slots = new Slots({
      size: options.poolSize,
      open: Effect.suspend(() => this.connect(new SqlConnection(login, options, (gone) => this.slots.lost(gone)))),
      close: (connection) => connection.close(),
      isDead: (connection) => connection.dead
    })
  }

  /** A clean connection of one's own, to be handed to `release` afterwards; see `Slots.take`. */
  get take() {
    return this.slots.take
  }

  /** Takes a connection back, cleans it while nobody waits for that, and gives it to the next. */
  readonly release = (connection: SqlConnection): void => {
    if (connection.dead) {
      this.slots.drop(connection)
      return
    }
    connection.reset((clean) => {
      if (clean) this.slots.give(connection)
      else this.slots.drop(connection)
    })
  }

  get close() {
    return this.slots.close
  }

  get pause() {
    return this.slots.pause
  }

  get resume() {
    return this.slots.resume
  }

  private connect(connection: SqlConnection): Effect.Effect<SqlConnection, Unavailable> {
    return connection.open.pipe(
      Effect.tapError((cause) => this.tell(cause)),
      Effect.mapError(databaseUnreachable),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Success") this.told = false
          else connection.abandon()
        })
      ),
      Effect.as(connection)
    )
  }

  /** One line an outage, not one a request. */
  private tell(cause: unknown) {
    if (this.told) return Effect.void
    this.told = true
    return Effect.logWarning("No connection to the database", cause)
  }
}
