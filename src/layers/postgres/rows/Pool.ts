import { type PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type Answer } from "../../../services/ports/Db.ts"
import { Lanes, type Send } from "./Lanes.ts"
import { fromSqlError } from "../Errors.ts"
import { Slots } from "../Slots.ts"

/** One connection and the scope that closes it. */
export interface Held {
  readonly connection: PgConnection.PgConnection
  readonly scope: Scope.Closeable
  dead: boolean
}

export interface RowPoolOptions {
  /** Opens a connection. `onClose` must be called when its socket is gone. */
  readonly connect: (onClose: () => void) => Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope>
  /** Cancels what a connection is running, from another one. */
  readonly cancel: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  readonly size: number
}

/**
 * Connections pinned to one database role. A request has a connection of its own, except cheap reads that run no user
 * code: those share a few lanes (Lanes.ts).
 */
export class RowPool {
  private readonly slots: Slots<Held, SqlError>
  private readonly lanes: Lanes
  private readonly options: RowPoolOptions

  constructor(options: RowPoolOptions) {
    this.options = options
    // Beside the others, not out of their number: commits of writes are synced together, the more the better.
    const lanes = options.size >= 4 ? 3 : 0
    this.lanes = new Lanes(lanes, this.connect)
    this.slots = new Slots({
      size: options.size,
      open: this.connect,
      close: (held) => {
        held.dead = true
        Effect.runFork(Scope.close(held.scope, Exit.void))
      },
      isDead: (held) => held.dead
    })
  }

  /**
   * A read that runs no user code: in a lane when it may, else on a connection of its own. `send` hands the connection
   * everything at once; in a lane other requests follow right behind.
   */
  readonly share = (text: string, send: Send): Effect.Effect<Answer, SqlError | Unavailable> =>
    Effect.suspend(() => {
      const lane = this.lanes.find(text)
      return lane === undefined ? this.use(this.lanes.timed(text, send)) : this.lanes.run(lane, text, send)
    })

  /** Exclusive use of a connection. `after` cleans it while nobody waits, before the next one gets it. */
  readonly use = <A, E>(
    body: (connection: PgConnection.PgConnection) => Effect.Effect<A, E>,
    after?: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  ): Effect.Effect<A, E | SqlError | Unavailable> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(this.slots.take, (held) =>
        Effect.onExit(restore(body(held.connection)), (exit) =>
          Effect.sync(() => {
            // Interrupted: statements may still be running or queued on it. Never hand such a connection on.
            if (Exit.isFailure(exit) && Exit.hasInterrupts(exit)) this.abandon(held)
            else if (after === undefined || held.dead) this.slots.give(held)
            else this.clean(held, after)
          })
        )
      )
    )

  /** Closes what is idle now and what is in use when it comes back. */
  readonly close = Effect.suspend(() => Effect.andThen(this.slots.close, this.lanes.close))

  /** Everybody waits until `resume`; done when no connection is left. */
  readonly pause: Effect.Effect<void> = Effect.suspend(() =>
    Effect.asVoid(Effect.all([this.slots.pause, this.lanes.pause], { concurrency: "unbounded" }))
  )

  readonly resume: Effect.Effect<void> = Effect.suspend(() => Effect.andThen(this.lanes.resume, this.slots.resume))

  private clean(held: Held, after: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>) {
    Effect.runFork(after(held.connection)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) this.slots.give(held)
      else this.slots.drop(held)
    })
  }

  /** Cancels what runs on the connection, then closes it. */
  private abandon(held: Held) {
    Effect.runFork(this.options.cancel(held.connection)).addObserver(() => this.slots.drop(held))
  }

  private readonly connect: Effect.Effect<Held, SqlError> = Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    let held: Held | undefined
    let gone = false
    const onClose = () => {
      gone = true
      if (held === undefined) return
      held.dead = true
      this.slots.lost(held)
    }
    return Scope.provide(this.options.connect(onClose), scope).pipe(
      Effect.map((connection) => (held = { connection, scope, dead: gone })),
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, Exit.void) : Effect.void))
    )
  })
}

/** Both kinds of failure of a pool, as ours. */
export const asOurs =
  (anonymous: boolean) =>
  (error: SqlError | Unavailable): DatabaseError | Unavailable =>
    error._tag === "SqlError" ? fromSqlError(error, anonymous) : error
