/**
 * Waiters of several clients. Clients take turns, and each client's waiters are served in order, so that one with many
 * waiters does not delay another with one.
 */
export class FairQueue<W> {
  /** Clients in the order of their turns, each with at least one waiter. */
  private readonly waiting = new Map<string, Array<W>>()

  push(client: string, waiter: W): void {
    const own = this.waiting.get(client)
    if (own === undefined) this.waiting.set(client, [waiter])
    else own.push(waiter)
  }

  /** Removes and returns the next waiter of a client that `may` be served now. */
  shift(may: (client: string) => boolean): W | undefined {
    for (const [client, own] of this.waiting) {
      if (!may(client)) continue
      const waiter = own.shift()
      this.waiting.delete(client)
      if (own.length > 0) this.waiting.set(client, own)
      return waiter
    }
    return undefined
  }

  /** Removes a waiter that no longer waits. */
  remove(client: string, waiter: W): void {
    const own = this.waiting.get(client)
    const at = own?.indexOf(waiter) ?? -1
    if (own === undefined || at < 0) return
    own.splice(at, 1)
    if (own.length === 0) this.waiting.delete(client)
  }

  /** The number of waiters. */
  get size(): number {
    let all = 0
    for (const own of this.waiting.values()) all += own.length
    return all
  }

  /** The number of a client's waiters. */
  count(client: string): number {
    return this.waiting.get(client)?.length ?? 0
  }
}

/** How much is in use by each client. */
export class Shares {
  private readonly used = new Map<string, number>()

  of(client: string): number {
    return this.used.get(client) ?? 0
  }

  add(client: string, count: number): void {
    const now = this.of(client) + count
    if (now === 0) this.used.delete(client)
    else this.used.set(client, now)
  }
}
