import { Effect } from "effect"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Login } from "../Login.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { BoundedPool } from "../BoundedPool.ts"
import { type ConnectionBudget, type ConnectionShare } from "../ConnectionBudget.ts"
import { SqlConnection, type SqlConnectionOptions } from "./Connection.ts"

export interface SqlPoolOptions extends SqlConnectionOptions {
  readonly poolSize: number
  /** The limit on the connections of this pool and of others together. */
  readonly budget?: ConnectionBudget
}

/**
 * Connections for any statement, opened on demand and cleaned when they are returned. One that ends, as all do when
 * PostgreSQL restarts, is dropped at once, so that the next request opens a new one.
 */
export class SqlPool {
  private warned = false
  private readonly pool: BoundedPool<SqlConnection, Unavailable>
  private readonly share: ConnectionShare | undefined

  constructor(login: Login, options: SqlPoolOptions) {
    this.share = options.budget?.share(() => this.pool.evict())
    const open = (onClose: () => void) => (onEnd?: () => void) =>
      Effect.suspend(() => {
        const connection = new SqlConnection(login, options, onClose)
        if (onEnd !== undefined) connection.client.on("end", onEnd)
        return this.connect(connection)
      })
    this.pool = new BoundedPool({
      size: options.poolSize,
      isOwed: this.share?.isOwed,
      open: (onClose) => this.share?.opened(open(onClose), true) ?? open(onClose)(),
      close: (connection) => connection.close(),
      isDead: (connection) => connection.dead
    })
  }

  /** A clean connection for exclusive use, which must be passed to `release` afterwards; see `BoundedPool.take`. */
  get take() {
    return this.pool.take("")
  }

  /** Takes a connection back, cleans it in the background and makes it available again. */
  readonly release = (connection: SqlConnection): void => {
    if (connection.dead) {
      this.pool.drop(connection)
      return
    }
    connection.reset((clean) => {
      if (clean) this.pool.give(connection)
      else this.pool.drop(connection)
    })
  }

  readonly use = () => this.pool.use

  /** Whether no connection is open or waited for; determined only with a budget. */
  readonly isUnused = () => this.share?.isUnused === true

  get close() {
    return Effect.andThen(
      this.pool.close,
      Effect.sync(() => this.share?.leave())
    )
  }

  get pause() {
    return this.pool.pause
  }

  get resume() {
    return this.pool.resume
  }

  private connect(connection: SqlConnection): Effect.Effect<SqlConnection, Unavailable> {
    return connection.open.pipe(
      Effect.tapError((cause) => this.warn(cause)),
      Effect.mapError(databaseUnreachable),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Success") this.warned = false
          else connection.abandon()
        })
      ),
      Effect.as(connection)
    )
  }

  /** Logs once per outage, not once per request. */
  private warn(cause: unknown) {
    if (this.warned) return Effect.void
    this.warned = true
    return Effect.logWarning("Failed to connect to the database", cause)
  }
}
