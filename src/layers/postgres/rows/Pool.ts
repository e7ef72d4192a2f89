import { type PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type Answer } from "../../../services/ports/Db.ts"
import { Pipelines, type PooledConnection, type Send } from "./Pipelines.ts"
import { fromSqlError } from "../Errors.ts"
import { BoundedPool } from "../BoundedPool.ts"

export interface RowPoolOptions {
  /** Opens a connection. `onClose` must be called when its socket closes. */
  readonly connect: (onClose: () => void) => Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope>
  /** Cancels a connection's statement, through another connection. */
  readonly cancel: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  readonly size: number
}

/**
 * Connections pinned to one database role. Each request uses one exclusively, except cheap reads that run no user code:
 * those share a few pipelined ones.
 */
export class RowPool {
  private readonly pool: BoundedPool<PooledConnection, SqlError>
  private readonly pipelines: Pipelines
  private readonly options: RowPoolOptions

  constructor(options: RowPoolOptions) {
    this.options = options
    // In addition to `size`: the more writes run at once, the more commits PostgreSQL syncs together.
    this.pipelines = new Pipelines(options.size >= 4 ? 3 : 0, this.connect)
    this.pool = new BoundedPool({
      size: options.size,
      open: this.connect,
      close: (pooled) => {
        pooled.dead = true
        Effect.runFork(Scope.close(pooled.scope, Exit.void))
      },
      isDead: (pooled) => pooled.dead
    })
  }

  /**
   * Runs a read that runs no user code: pipelined if it is known to be quick, else exclusively. `send` must write
   * everything at once, because on a pipeline other requests follow immediately.
   */
  readonly share = (text: string, send: Send): Effect.Effect<Answer, SqlError | Unavailable> =>
    Effect.suspend(() => {
      const pipeline = this.pipelines.find(text)
      return pipeline === undefined
        ? this.use(this.pipelines.timed(text, send))
        : this.pipelines.run(pipeline, text, send)
    })

  /** Uses a connection exclusively. `after` cleans it in the background before it is reused. */
  readonly use = <A, E>(
    body: (connection: PgConnection.PgConnection) => Effect.Effect<A, E>,
    after?: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  ): Effect.Effect<A, E | SqlError | Unavailable> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(this.pool.take, (pooled) =>
        Effect.onExit(restore(body(pooled.connection)), (exit) =>
          Effect.sync(() => {
            // Interrupted: statements may still be running or queued on the connection, so it must not be reused.
            if (Exit.isFailure(exit) && Exit.hasInterrupts(exit)) this.abandon(pooled)
            else if (after === undefined || pooled.dead) this.pool.give(pooled)
            else this.clean(pooled, after)
          })
        )
      )
    )

  /** Closes idle connections now, and those in use when they are returned. */
  readonly close = Effect.suspend(() => Effect.andThen(this.pool.close, this.pipelines.close))

  /** Makes requests wait until `resume`; completes when no connection is left. */
  readonly pause: Effect.Effect<void> = Effect.suspend(() =>
    Effect.asVoid(Effect.all([this.pool.pause, this.pipelines.pause], { concurrency: "unbounded" }))
  )

  readonly resume: Effect.Effect<void> = Effect.suspend(() => Effect.andThen(this.pipelines.resume, this.pool.resume))

  private clean(
    pooled: PooledConnection,
    after: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  ) {
    Effect.runFork(after(pooled.connection)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) this.pool.give(pooled)
      else this.pool.drop(pooled)
    })
  }

  /** Cancels the statement on the connection, then closes it. */
  private abandon(pooled: PooledConnection) {
    Effect.runFork(this.options.cancel(pooled.connection)).addObserver(() => this.pool.drop(pooled))
  }

  private readonly connect: Effect.Effect<PooledConnection, SqlError> = Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    let pooled: PooledConnection | undefined
    let gone = false
    const onClose = () => {
      gone = true
      if (pooled === undefined) return
      pooled.dead = true
      this.pool.lost(pooled)
    }
    return Scope.provide(this.options.connect(onClose), scope).pipe(
      Effect.map((connection) => (pooled = { connection, scope, dead: gone })),
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, Exit.void) : Effect.void))
    )
  })
}

/** A pool's failure as the caller sees it; `anonymous` as in `fromSqlError`. */
export const asApiError =
  (anonymous: boolean) =>
  (error: SqlError | Unavailable): DatabaseError | Unavailable =>
    error._tag === "SqlError" ? fromSqlError(error, anonymous) : error
