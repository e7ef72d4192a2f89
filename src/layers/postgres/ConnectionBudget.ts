import { Effect } from "effect"
import { Unavailable } from "../../domain/errors.ts"

/** ms that a request waits for its turn before it fails with 503. */
const waitMillis = 4_000

const exhausted = () =>
  new Unavailable({
    error: "All database connections for branches are in use; retry shortly",
    code: "BRANCH_POOL_EXHAUSTED",
    hint: "SVC_BRANCH_MAX_CONNECTIONS sets the number of connections to all branches together"
  })

interface Waiter {
  readonly share: ConnectionShare
  readonly grant: () => void
}

/**
 * A bounded number of connections that several pools share. While all are open, a pool that needs another one gets the
 * next that ends: one that is not in use is closed for it, and pools that have more do not reuse theirs. Those who wait
 * are served in the order of how little they have, so that one busy pool can't starve the others.
 */
export class ConnectionBudget {
  private open = 0
  private readonly size: number
  private readonly shares = new Set<ConnectionShare>()
  private readonly waiters: Array<Waiter> = []

  constructor(size: number) {
    this.size = size
  }

  /** `evict` closes one connection of the share that is not in use; false when there is none. */
  share(evict: () => boolean): ConnectionShare {
    const share = new ConnectionShare(this, evict)
    this.shares.add(share)
    return share
  }

  leave(share: ConnectionShare): void {
    this.shares.delete(share)
  }

  /** Takes a place if one is free. */
  tryTake(share: ConnectionShare): boolean {
    if (this.open >= this.size || this.waiters.length > 0) return false
    this.open++
    share.held++
    return true
  }

  /**
   * Takes a place, waiting for one up to 4 s. 503 `BRANCH_POOL_EXHAUSTED`. Run it uninterruptibly, so that no place is
   * lost; waiting stays interruptible.
   */
  take(share: ConnectionShare): Effect.Effect<void, Unavailable> {
    return Effect.suspend(() => {
      if (this.tryTake(share)) return Effect.void
      // Assigned to this waiter, whose fiber may not have resumed yet.
      let granted = false
      const wait = Effect.callback<void, Unavailable>((resume) => {
        const waiter: Waiter = {
          share,
          grant: () => {
            clearTimeout(timer)
            granted = true
            resume(Effect.void)
          }
        }
        const forget = () => {
          clearTimeout(timer)
          const at = this.waiters.indexOf(waiter)
          if (at >= 0) this.waiters.splice(at, 1)
        }
        const timer = setTimeout(() => {
          forget()
          resume(Effect.fail(exhausted()))
        }, waitMillis)
        this.waiters.push(waiter)
        this.evict()
        return Effect.sync(forget)
      })
      return Effect.onInterrupt(Effect.interruptible(wait), () => Effect.sync(() => granted && this.release(share)))
    })
  }

  /** Returns a place, which passes to the waiter whose share has the fewest. */
  release(share: ConnectionShare): void {
    this.open--
    share.held--
    const next = this.neediest()
    if (next === undefined) return
    this.waiters.splice(this.waiters.indexOf(next), 1)
    this.open++
    next.share.held++
    next.grant()
  }

  /** Whether a share waits that has fewer connections than this one; or any, for a connection that would be idle. */
  isOwed(share: ConnectionShare, idle: boolean): boolean {
    const next = this.waiters.length === 0 ? undefined : this.neediest()
    return next !== undefined && (idle || next.share.held < share.held)
  }

  isWaiting(share: ConnectionShare): boolean {
    return this.waiters.some((waiter) => waiter.share === share)
  }

  private neediest(): Waiter | undefined {
    let best: Waiter | undefined
    for (const waiter of this.waiters) if (best === undefined || waiter.share.held < best.share.held) best = waiter
    return best
  }

  /** Closes a connection that is not in use, of the share with the most. */
  private evict() {
    const byHeld = [...this.shares].toSorted((one, other) => other.held - one.held)
    byHeld.some((share) => share.held > 0 && share.evict())
  }
}

/** The connections of one pool in a budget. */
export class ConnectionShare {
  /** Places that are taken. */
  held = 0
  readonly evict: () => boolean
  private readonly budget: ConnectionBudget

  /** Made by `ConnectionBudget.share`. */
  constructor(budget: ConnectionBudget, evict: () => boolean) {
    this.budget = budget
    this.evict = evict
  }

  /** Whether it holds no connection, and nothing waits for one. */
  get isUnused(): boolean {
    return this.held === 0 && !this.budget.isWaiting(this)
  }

  /** Whether a connection should be closed when it is returned, because others have a claim to it. */
  readonly isOwed = (idle: boolean): boolean => this.budget.isOwed(this, idle)

  /**
   * Opens a connection in a place of the budget, which it leaves when it calls `onClose`. Unless it is `patient`, it fails
   * at once when no place is free.
   */
  opened<C, E>(
    open: (onClose: () => void) => Effect.Effect<C, E>,
    patient: boolean
  ): Effect.Effect<C, E | Unavailable> {
    return Effect.uninterruptibleMask((restore) => {
      let held = true
      const release = () => {
        if (held) this.budget.release(this)
        held = false
      }
      const place = patient
        ? this.budget.take(this)
        : Effect.suspend(() => (this.budget.tryTake(this) ? Effect.void : Effect.fail(exhausted())))
      return Effect.andThen(
        place,
        Effect.onError(restore(open(release)), () => Effect.sync(release))
      )
    })
  }

  /** Ends the share; connections that are still open leave when they close. */
  leave(): void {
    this.budget.leave(this)
  }
}
