/** How many places there are, and how many of them one client may have. */
export interface PlaceLimits {
  readonly all: number
  readonly client: number
}

/** Whether a place was taken, or what it is that prevents it. */
export type Place = "taken" | "full" | "client"

/** The places that writers have taken for their clients: writer, client, count. */
export type PlaceSnapshot = ReadonlyMap<number, ReadonlyMap<number, number>>

/** Places that are taken for a while, counted for each writer, so that those of one that ends are free again. */
export class PlaceCounts {
  private readonly byWriter = new Map<number, Map<number, number>>()
  private readonly byClient = new Map<number, number>()
  private all = 0

  constructor(from?: PlaceSnapshot) {
    for (const [writer, clients] of from ?? []) for (const [client, count] of clients) this.add(writer, client, count)
  }

  get snapshot(): PlaceSnapshot {
    return this.byWriter
  }

  get taken(): number {
    return this.all
  }

  enter(writer: number, client: number, limits: PlaceLimits): Place {
    if (this.all >= limits.all) return "full"
    if ((this.byClient.get(client) ?? 0) >= limits.client) return "client"
    this.add(writer, client, 1)
    return "taken"
  }

  leave(writer: number, client: number): void {
    this.add(writer, client, -1)
  }

  /** Gives back all places of a writer. */
  gone(writer: number): void {
    for (const [client, count] of this.byWriter.get(writer) ?? []) this.add(writer, client, -count)
  }

  private add(writer: number, client: number, count: number) {
    const clients = this.byWriter.get(writer) ?? new Map<number, number>()
    this.byWriter.set(writer, clients)
    this.all += count
    for (const counts of [clients, this.byClient]) {
      const now = (counts.get(client) ?? 0) + count
      if (now === 0) counts.delete(client)
      else counts.set(client, now)
    }
    if (clients.size === 0) this.byWriter.delete(writer)
  }
}
