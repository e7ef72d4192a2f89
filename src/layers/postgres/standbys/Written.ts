/** Clients whose last write is remembered. */
const maxClients = 10_000

/** How far into the log a standby must be for each client to read what it wrote, by the writes of this process. */
export class Written {
  private readonly positions = new Map<string, number>()
  /** The highest position of clients that were dropped. */
  private floor = 0

  /** `Infinity`: the position is not determined yet, see `resolve`. */
  record(client: string, position: number): void {
    this.positions.delete(client)
    this.positions.set(client, position)
    if (this.positions.size <= maxClients) return
    const [[oldest, last] = ["", 0]] = this.positions
    this.positions.delete(oldest)
    if (last > this.floor) this.floor = last
  }

  of(client: string): number {
    return this.positions.get(client) ?? this.floor
  }

  /** Gives a position after all writes so far to clients without one. */
  resolve(position: number): void {
    if (this.floor === Number.POSITIVE_INFINITY) this.floor = position
    for (const [client, known] of this.positions) {
      if (known === Number.POSITIVE_INFINITY) this.positions.set(client, position)
    }
  }
}
