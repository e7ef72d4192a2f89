import { type PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { type DatabaseError, type Unavailable } from "../domain/errors.ts"
import { type Answer } from "../services/Db.ts"
import { fromSqlError, poolExhausted } from "./PostgresErrors.ts"

/** One connection and the scope that closes it. */
interface Held {
  readonly connection: PgConnection.PgConnection
  readonly scope: Scope.Closeable
  dead: boolean
}

/** A connection that several cheap reads share, each sent without waiting for the one before. */
interface Lane {
  held: Held | undefined
  opening: boolean
  inFlight: number
  /** When the statement at the head of the queue began to run, in ms; 0 while the lane is idle. */
  headSince: number
}

type Send = (connection: PgConnection.PgConnection) => Effect.Effect<Answer, SqlError>

type Waiter = (held: Effect.Effect<Held, SqlError | Unavailable>) => void

/** A statement that takes longer than this on average stays out of the lanes: others would wait behind it. */
const slowMillis = 20
/** How much the last run counts in that average. */
const lastWeighs = 0.2
const laneDepth = 64
/** How long a request waits for a connection of its own before it is told to come back. */
const waitMillis = 4_000

export interface RowPoolOptions {
  /** Opens a connection. `onClose` must be called when its socket is gone. */
  readonly connect: (onClose: () => void) => Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope>
  /** Cancels what a connection is running, from another one. */
  readonly cancel: (connection: PgConnection.PgConnection) => Effect.Effect<unknown, unknown>
  readonly size: number
}

/**
 * Connections pinned to one database role. A request has a connection of its own, except reads that run no user code
 * and were quick so far: those share a few lanes, which saves a third of their cost (docs/performance.md).
 */
export class RowPool {
  private readonly idle: Array<Held> = []
  private readonly waiters: Array<Waiter> = []
  private readonly lanes: Array<Lane> = []
  /** Average time in ms of every text seen of late. */
  private readonly averages = new Map<string, number>()
  private readonly size: number
  private batch: Array<(effect: Effect.Effect<void>) => void> = []
  private open = 0
  private closed = false
  private readonly options: RowPoolOptions

  constructor(options: RowPoolOptions) {
    this.options = options
    const lanes = options.size >= 4 ? Math.min(4, Math.floor(options.size / 3)) : 0
    this.size = Math.max(1, options.size - lanes)
    for (let i = 0; i < lanes; i++) this.lanes.push({ held: undefined, opening: false, inFlight: 0, headSince: 0 })
  }

  /**
   * A clean read: in a lane when it may, else on a connection of its own. `send` hands the connection everything at
   * once; in a lane other requests follow right behind.
   */
  readonly read = (text: string, send: Send): Effect.Effect<Answer, SqlError | Unavailable> =>
    Effect.suspend(() => {
      const lane = this.laneFor(text)
      return lane === undefined ? this.timed(text, send) : this.inLane(lane, text, send)
    })

  /** Exclusive use of a connection. `body` says whether the connection may be used again. */
  readonly use = <A, E>(
    body: (held: PgConnection.PgConnection) => Effect.Effect<A, E>,
    after?: (held: PgConnection.PgConnection) => Effect.Effect<unknown, SqlError>
  ): Effect.Effect<A, E | SqlError | Unavailable> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(this.take), (held) =>
        Effect.onExit(restore(body(held.connection)), (exit) => {
          // Interrupted: statements may still be running or queued on it. Never hand such a connection on.
          if (Exit.isFailure(exit) && Exit.hasInterrupts(exit)) return this.abandon(held)
          if (after === undefined || held.dead) return Effect.sync(() => this.give(held))
          // Off the answer's path: the caller need not wait until the connection is clean again.
          return Effect.sync(() => {
            Effect.runFork(
              Effect.matchEffect(after(held.connection), {
                onSuccess: () => Effect.sync(() => this.give(held)),
                onFailure: () => this.drop(held)
              })
            )
          })
        })
      )
    )

  /** Closes every connection; those in use when they are given back. */
  readonly close = Effect.suspend(() => {
    this.closed = true
    const held = [...this.idle, ...this.lanes.flatMap((lane) => (lane.held ? [lane.held] : []))]
    this.idle.length = 0
    for (const lane of this.lanes) lane.held = undefined
    for (const wait of this.waiters.splice(0)) wait(Effect.fail(poolExhausted()))
    return Effect.forEach(held, (one) => Scope.close(one.scope, Exit.void), { discard: true })
  })

  private readonly timed = (text: string, send: Send) =>
    this.use((connection) => {
      const started = performance.now()
      return Effect.tap(send(connection), () => Effect.sync(() => this.judge(text, performance.now() - started)))
    })

  private judge(text: string, millis: number) {
    const before = this.averages.get(text)
    if (before === undefined && this.averages.size >= 1000) this.averages.clear()
    this.averages.set(text, before === undefined ? millis : before + (millis - before) * lastWeighs)
  }

  /** The least busy lane whose head is not stuck; none for a text that is new or slow. */
  private laneFor(text: string): Lane | undefined {
    if ((this.averages.get(text) ?? Number.POSITIVE_INFINITY) > slowMillis) return undefined
    let best: Lane | undefined
    const now = performance.now()
    for (const lane of this.lanes) {
      if (lane.held === undefined || lane.held.dead) {
        this.openLane(lane)
        continue
      }
      if (lane.inFlight >= laneDepth) continue
      if (lane.inFlight > 0 && now - lane.headSince > slowMillis) continue
      if (best === undefined || lane.inFlight < best.inFlight) best = lane
    }
    return best
  }

  private inLane(lane: Lane, text: string, send: Send) {
    const held = lane.held as Held
    if (lane.inFlight++ === 0) lane.headSince = performance.now()
    return Effect.onExit(
      Effect.andThen(
        this.nextBatch,
        Effect.suspend(() => send(held.connection))
      ),
      () =>
        Effect.sync(() => {
          const now = performance.now()
          this.judge(text, now - lane.headSince)
          lane.headSince = now
          lane.inFlight--
        })
    )
  }

  /**
   * Until all requests that came in with the same turn of the event loop have been read: what they ask is then written
   * to PostgreSQL together. Waking it is the dearest part of a small read.
   */
  private readonly nextBatch = Effect.callback<void>((resume) => {
    if (this.batch.push(resume) > 1) return
    setImmediate(() => {
      const batch = this.batch
      this.batch = []
      for (const resume of batch) resume(Effect.void)
    })
  })

  private openLane(lane: Lane) {
    if (lane.opening || this.closed) return
    lane.opening = true
    lane.held = undefined
    Effect.runFork(
      Effect.match(this.connect, {
        onSuccess: (held) => {
          lane.opening = false
          lane.inFlight = 0
          lane.held = held
        },
        onFailure: () => {
          lane.opening = false
        }
      })
    )
  }

  private readonly connect: Effect.Effect<Held, SqlError> = Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    let held: Held | undefined
    let gone = false
    const onClose = () => {
      gone = true
      if (held !== undefined) this.lost(held)
    }
    return Scope.provide(this.options.connect(onClose), scope).pipe(
      Effect.map((connection) => (held = { connection, scope, dead: gone })),
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, Exit.void) : Effect.void))
    )
  })

  /** A socket went away: forget the connection, so that the next request opens a new one. */
  private lost(held: Held) {
    held.dead = true
    const at = this.idle.indexOf(held)
    if (at >= 0) {
      this.idle.splice(at, 1)
      this.open--
      Effect.runFork(Scope.close(held.scope, Exit.void))
    }
  }

  private readonly take: Effect.Effect<Held, SqlError | Unavailable> = Effect.suspend(() => {
    const held = this.idle.pop()
    if (held !== undefined) return Effect.succeed(held)
    if (this.open < this.size) {
      this.open++
      return Effect.onExit(this.connect, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) this.freeSlot()
        })
      )
    }
    return Effect.callback<Held, SqlError | Unavailable>((resume) => {
      const wait: Waiter = (held) => {
        clearTimeout(timer)
        resume(held)
      }
      const timer = setTimeout(() => {
        this.forget(wait)
        resume(Effect.fail(poolExhausted()))
      }, waitMillis)
      this.waiters.push(wait)
      return Effect.sync(() => {
        clearTimeout(timer)
        this.forget(wait)
      })
    })
  })

  private forget(wait: Waiter) {
    const at = this.waiters.indexOf(wait)
    if (at >= 0) this.waiters.splice(at, 1)
  }

  private give(held: Held) {
    if (held.dead || this.closed) {
      Effect.runFork(this.drop(held))
      return
    }
    const wait = this.waiters.shift()
    if (wait) wait(Effect.succeed(held))
    else this.idle.push(held)
  }

  private readonly drop = (held: Held) =>
    Effect.suspend(() => {
      held.dead = true
      this.freeSlot()
      return Scope.close(held.scope, Exit.void)
    })

  /** Cancels what runs on the connection, then closes it. */
  private readonly abandon = (held: Held) =>
    Effect.sync(() => {
      Effect.runFork(Effect.andThen(Effect.ignore(this.options.cancel(held.connection)), this.drop(held)))
    })

  /** One connection less: let the longest waiter open its successor. */
  private freeSlot() {
    this.open--
    const wait = this.waiters.shift()
    if (wait === undefined) return
    this.open++
    wait(
      Effect.onExit(this.connect, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) this.freeSlot()
        })
      )
    )
  }
}

/** Both kinds of failure of a pool, as ours. */
export const asOurs =
  (anonymous: boolean) =>
  (error: SqlError | Unavailable): DatabaseError | Unavailable =>
    error._tag === "SqlError" ? fromSqlError(error, anonymous) : error
