import { Effect, Exit } from "effect"
import { type Unavailable } from "../../domain/errors.ts"
import { poolExhausted } from "./Errors.ts"

export interface SlotsOptions<C, E> {
  readonly size: number
  /** Opens a connection; leaves nothing behind when it fails or is interrupted. */
  readonly open: Effect.Effect<C, E>
  readonly close: (connection: C) => void
  /** Its socket is gone, or nobody should meet it any more. */
  readonly isDead: (connection: C) => boolean
}

/** How long a request waits for a connection before it is told to come back, in ms. */
const waitMillis = 4_000

/** Undefined: no connection came free, but room for a new one. */
type Waiter<C> = (connection: C | undefined) => void

/**
 * A bounded number of connections, opened when they are needed, each with one user at a time; whoever finds none waits
 * in line. What is given back dead makes room for a new one.
 */
export class Slots<C, E> {
  private readonly idle: Array<C> = []
  private readonly waiters: Array<Waiter<C>> = []
  private open = 0
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []
  private readonly options: SlotsOptions<C, E>

  constructor(options: SlotsOptions<C, E>) {
    this.options = options
  }

  /**
   * A connection of one's own, to be handed to `give` or `drop` afterwards. To be run uninterruptibly, so that none
   * gets lost on the way; waiting and opening can be interrupted all the same.
   */
  readonly take: Effect.Effect<C, E | Unavailable> = Effect.suspend(() => {
    if (this.paused) return Effect.flatten(this.turn)
    const connection = this.idle.pop()
    if (connection !== undefined) return Effect.succeed(connection)
    if (this.open < this.options.size && !this.closed) {
      this.open++
      return this.opened
    }
    return Effect.flatten(this.turn)
  })

  /** Takes a connection back and hands it to who has waited longest. */
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

  /** A connection's socket went away. One that is in use is dropped when it comes back. */
  readonly lost = (connection: C): void => {
    const at = this.idle.indexOf(connection)
    if (at < 0) return
    this.idle.splice(at, 1)
    this.drop(connection)
  }

  /** Closes what is idle now and what is in use when it comes back; nobody waits any longer. */
  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.closed = true
    for (const connection of this.idle.splice(0)) this.options.close(connection)
  })

  /**
   * From now on whoever comes waits, without a limit of time, until `resume`. Done when no connection is left: idle ones
   * are closed now, those in use when they come back.
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

  /** Lets those who wait go on, in their order. */
  readonly resume: Effect.Effect<void> = Effect.sync(() => {
    this.paused = false
    while (this.open < this.options.size && this.waiters.length > 0) {
      this.open++
      this.waiters.shift()?.(undefined)
    }
  })

  /** Opens a connection on a slot that is taken already, and frees the slot if it can't. */
  private readonly opened: Effect.Effect<C, E> = Effect.suspend(() =>
    Effect.onExit(Effect.interruptible(this.options.open), (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) this.freeSlot()
      })
    )
  )

  /** Gives a connection, or the effect of opening one on a slot that came free. */
  private readonly turn: Effect.Effect<Effect.Effect<C, E>, Unavailable> = Effect.suspend(() => {
    // Given, but not yet in the hands of who asked for it.
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
