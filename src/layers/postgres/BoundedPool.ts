import { Effect, Exit } from "effect"
import { type Unavailable } from "../../domain/errors.ts"
import { FairQueue, Shares } from "../../domain/FairQueue.ts"
import { poolExhausted } from "./Errors.ts"
import { type PoolUse } from "../../domain/metrics/Sample.ts"

export interface BoundedPoolOptions<C, E> {
  readonly size: number
  /** Opens a connection, which calls `onClose` when its socket closes; leaves nothing behind when it fails or is interrupted. */
  readonly open: (onClose: () => void) => Effect.Effect<C, E>
  readonly close: (connection: C) => void
  /** Whether its socket is gone, or its state does not allow reuse. */
  readonly isDead: (connection: C) => boolean
  /** Whether a connection that is returned must be closed, because other pools have a claim to it. `idle`: this pool has no use for it. */
  readonly isOwed?: ((idle: boolean) => boolean) | undefined
}

/** ms that a request waits for a connection before it fails with 503. */
const waitMillis = 4_000
/** The share of a pool that one client can have: the rest is left for others, however long its statements take. */
const maxShare = 0.75

interface Waiter<C> {
  readonly client: string
  /** Called with a connection, or with undefined when there is room to open one. */
  readonly resume: (connection: C | undefined) => void
}

/**
 * A bounded number of connections, opened on demand, each with one user at a time. Requests beyond that wait: clients take
 * turns, and one client never has more than its share. A connection that is returned dead makes room for a new one.
 */
export class BoundedPool<C, E> {
  private readonly idle: Array<C> = []
  private readonly waiters = new FairQueue<Waiter<C>>()
  private readonly shares = new Shares()
  /** The clients of the connections in use. */
  private readonly clients = new Map<C, string>()
  private readonly share: number
  private open = 0
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []
  private readonly options: BoundedPoolOptions<C, E>

  constructor(options: BoundedPoolOptions<C, E>) {
    this.options = options
    this.share = Math.ceil(options.size * maxShare)
  }

  /**
   * A connection for exclusive use, which must be passed to `give` or `drop` afterwards. Run it uninterruptibly, so that
   * no connection is lost; waiting and opening stay interruptible. `client`: see `Actor`.
   */
  readonly take = (client: string): Effect.Effect<C, E | Unavailable> =>
    Effect.suspend(() => {
      if (this.paused || !this.mayTake(client)) return this.queued(client)
      const connection = this.idle.pop()
      if (connection !== undefined) {
        this.begin(client, connection)
        return Effect.succeed(connection)
      }
      if (this.open >= this.options.size || this.closed) return this.queued(client)
      this.takeSlot(client)
      return this.opened(client)
    })

  get use(): PoolUse {
    const { idle, open, waiters } = this
    return { open, busy: open - idle.length, waiting: waiters.size, limit: this.options.size }
  }

  /** Returns a connection, which passes to the next waiter. */
  readonly give = (connection: C): void => {
    if (this.closed || this.paused || this.options.isDead(connection) || this.options.isOwed?.(false) === true) {
      this.drop(connection)
      return
    }
    this.release(connection)
    this.idle.push(connection)
    this.serve()
    if (this.options.isOwed?.(true) === true) this.evict()
  }

  /** Closes a connection that was taken. */
  readonly drop = (connection: C): void => {
    this.release(connection)
    this.options.close(connection)
    this.closedOne()
  }

  /** Closes the connection that has been idle for longest; false when none is idle. */
  readonly evict = (): boolean => {
    const connection = this.idle.shift()
    if (connection === undefined) return false
    this.drop(connection)
    return true
  }

  /** Closes idle connections now, and those in use when they are returned. */
  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.closed = true
    for (const connection of this.idle.splice(0)) this.options.close(connection)
  })

  /**
   * Makes requests wait, without a timeout, until `resume`. Completes when no connection is left: idle ones are closed
   * now, those in use when they are returned.
   */
  readonly pause: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.paused = true
    for (const connection of this.idle.splice(0)) this.drop(connection)
    if (this.open === 0) {
      resume(Effect.void)
      return
    }
    const empty = () => resume(Effect.void)
    this.whenEmpty.push(empty)
    return Effect.sync(() => {
      this.whenEmpty = this.whenEmpty.filter((other) => other !== empty)
    })
  })

  /** Serves the waiters, in order. */
  readonly resume: Effect.Effect<void> = Effect.sync(() => {
    this.paused = false
    this.serve()
  })

  private readonly mayTake = (client: string) => client === "" || this.shares.of(client) < this.share

  private begin(client: string, connection: C) {
    this.shares.add(client, 1)
    this.clients.set(connection, client)
  }

  private release(connection: C) {
    const client = this.clients.get(connection)
    if (client === undefined) return
    this.clients.delete(connection)
    this.shares.add(client, -1)
  }

  /** Opens a connection in a slot that is already counted, and frees the slot on failure. */
  private opened(client: string): Effect.Effect<C, E> {
    return Effect.suspend(() => {
      let opened: C | undefined
      const open = this.options.open(() => opened !== undefined && this.lost(opened))
      return Effect.onExit(Effect.interruptible(open), (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) this.freeSlot(client)
          else this.clients.set((opened = exit.value), client)
        })
      )
    })
  }

  /** A connection's socket has closed. One that is in use is dropped when it is returned. */
  private lost(connection: C) {
    const at = this.idle.indexOf(connection)
    if (at < 0) return
    this.idle.splice(at, 1)
    this.drop(connection)
  }

  private takeSlot(client: string) {
    this.open++
    this.shares.add(client, 1)
  }

  private freeSlot(client: string) {
    this.shares.add(client, -1)
    this.closedOne()
  }

  private closedOne() {
    this.open--
    if (this.paused && this.open === 0) for (const empty of this.whenEmpty.splice(0)) empty()
    this.serve()
  }

  /** Hands idle connections and free slots to waiters. */
  private serve() {
    while (!this.paused && (this.idle.length > 0 || this.open < this.options.size)) {
      const waiter = this.waiters.shift(this.mayTake)
      if (waiter === undefined) return
      const connection = this.idle.pop()
      if (connection === undefined) this.takeSlot(waiter.client)
      else this.begin(waiter.client, connection)
      waiter.resume(connection)
    }
  }

  /** Waits for a connection, or for a free slot in which it then opens one. */
  private queued(client: string): Effect.Effect<C, E | Unavailable> {
    // Assigned to this waiter, whose fiber has not resumed yet.
    let given: { readonly connection: C | undefined } | undefined
    const wait = Effect.callback<Effect.Effect<C, E>, Unavailable>((resume) => {
      const waiter: Waiter<C> = {
        client,
        resume: (connection) => {
          clearTimeout(timer)
          given = { connection }
          resume(Effect.succeed(connection === undefined ? this.opened(client) : Effect.succeed(connection)))
        }
      }
      const forget = () => {
        clearTimeout(timer)
        this.waiters.remove(client, waiter)
      }
      const late = () => {
        if (this.paused) {
          timer = setTimeout(late, waitMillis)
          return
        }
        forget()
        resume(Effect.fail(poolExhausted()))
      }
      let timer = setTimeout(late, waitMillis)
      this.waiters.push(client, waiter)
      return Effect.sync(forget)
    })
    const waited = Effect.onInterrupt(Effect.interruptible(wait), () =>
      Effect.sync(() => {
        if (given?.connection !== undefined) this.give(given.connection)
        else if (given) this.freeSlot(client)
      })
    )
    return Effect.flatten(waited)
  }
}
