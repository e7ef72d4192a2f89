import { Effect, Exit } from "effect"
import { type Unavailable } from "../../domain/errors.ts"
import { poolExhausted } from "./Errors.ts"

export interface BoundedPoolOptions<C, E> {
  readonly size: number
  /** Opens a connection; leaves nothing behind when it fails or is interrupted. */
  readonly open: Effect.Effect<C, E>
  readonly close: (connection: C) => void
  /** Whether its socket is gone, or its state does not allow reuse. */
  readonly isDead: (connection: C) => boolean
}

/** ms that a request waits for a connection before it fails with 503. */
const waitMillis = 4_000

/** Called with a connection, or with undefined when there is room to open one. */
type Waiter<C> = (connection: C | undefined) => void

/**
 * A bounded number of connections, opened on demand, each with one user at a time. Requests beyond that wait in order.
 * A connection that is returned dead makes room for a new one.
 */
export class BoundedPool<C, E> {
  private readonly idle: Array<C> = []
  private readonly waiters: Array<Waiter<C>> = []
  private open = 0
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []
  private readonly options: BoundedPoolOptions<C, E>

  constructor(options: BoundedPoolOptions<C, E>) {
    this.options = options
  }

  /**
   * A connection for exclusive use, which must be passed to `give` or `drop` afterwards. Run it uninterruptibly, so that
   * no connection is lost; waiting and opening stay interruptible.
   */
  readonly take: Effect.Effect<C, E | Unavailable> = Effect.suspend(() => {
    if (this.paused) return Effect.flatten(this.queued)
    const connection = this.idle.pop()
    if (connection !== undefined) return Effect.succeed(connection)
    if (this.open < this.options.size && !this.closed) {
      this.open++
      return this.opened
    }
    return Effect.flatten(this.queued)
  })

  /** Returns a connection, which passes to the longest waiter. */
  readonly give = (connection: C): void => {
    if (this.closed || this.paused || this.options.isDead(connection)) {
      this.drop(connection)
      return
    }
    const waiter = this.waiters.shift()
    if (waiter) waiter(connection)
    else this.idle.push(connection)
  }

  /** Closes a connection that was taken. */
  readonly drop = (connection: C): void => {
    this.options.close(connection)
    this.freeSlot()
  }

  /** Reports that a connection's socket closed. One that is in use is dropped when it is returned. */
  readonly lost = (connection: C): void => {
    const at = this.idle.indexOf(connection)
    if (at < 0) return
    this.idle.splice(at, 1)
    this.drop(connection)
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
    while (this.open < this.options.size && this.waiters.length > 0) {
      this.open++
      this.waiters.shift()?.(undefined)
    }
  })

  /** Opens a connection in a slot that is already counted, and frees the slot on failure. */
  private readonly opened: Effect.Effect<C, E> = Effect.suspend(() =>
    Effect.onExit(Effect.interruptible(this.options.open), (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) this.freeSlot()
      })
    )
  )

  /** Waits for a connection, or for a free slot and then gives the effect that opens one. */
  private readonly queued: Effect.Effect<Effect.Effect<C, E>, Unavailable> = Effect.suspend(() => {
    // Assigned to this waiter, whose fiber has not resumed yet.
    let given: { readonly connection: C | undefined } | undefined
    const wait = Effect.callback<Effect.Effect<C, E>, Unavailable>((resume) => {
      const waiter: Waiter<C> = (connection) => {
        clearTimeout(timer)
        given = { connection }
        resume(Effect.succeed(connection === undefined ? this.opened : Effect.succeed(connection)))
      }
      const forget = () => {
        clearTimeout(timer)
        const at = this.waiters.indexOf(waiter)
        if (at >= 0) this.waiters.splice(at, 1)
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
      this.waiters.push(waiter)
      return Effect.sync(forget)
    })
    return Effect.onInterrupt(Effect.interruptible(wait), () =>
      Effect.sync(() => {
        if (given?.connection !== undefined) this.give(given.connection)
        else if (given) this.freeSlot()
      })
    )
  })

  private freeSlot() {
    const waiter = this.paused ? undefined : this.waiters.shift()
    if (waiter) {
      waiter(undefined)
      return
    }
    this.open--
    if (this.paused && this.open === 0) for (const empty of this.whenEmpty.splice(0)) empty()
  }
}
