import { LRUCache } from "lru-cache"

export interface Prepared {
  readonly name: string
  /** Its Parse was sent. */
  sent: boolean
  confirmed: boolean
  closed: boolean
}

/** Prepared statements of one connection, and the characters of all their texts: one takes PostgreSQL some 160 bytes. */
const maxPrepared = 100
const maxPreparedSize = 128 * 1024

/** The statements that a connection keeps prepared, by their text: those used last. */
export class PreparedStatements {
  private readonly statements: LRUCache<string, Prepared>
  private names = 0
  private confirmed = 0
  private epoch: number | undefined

  /** `close` sends the message that closes a statement by its name. */
  constructor(close: (name: string) => void) {
    this.statements = new LRUCache<string, Prepared>({
      max: maxPrepared,
      maxSize: maxPreparedSize,
      sizeCalculation: (_, text) => text.length,
      dispose: (prepared) => {
        prepared.closed = true
        if (prepared.confirmed) this.confirmed--
        close(prepared.name)
      }
    })
  }

  /** The number of statements that the server has confirmed, and that were not closed. */
  get count(): number {
    return this.confirmed
  }

  of(text: string): Prepared {
    const known = this.statements.get(text)
    if (known !== undefined) return known
    const prepared: Prepared = { name: `s${this.names++}`, sent: false, confirmed: false, closed: false }
    this.statements.set(text, prepared)
    return prepared
  }

  /**
   * Closes statements that were prepared in another epoch of the catalogue, for other definitions of the same names.
   */
  enter(epoch: number): void {
    if (this.epoch !== epoch) this.statements.clear()
    this.epoch = epoch
  }

  /** PostgreSQL has parsed the statement. */
  confirm(prepared: Prepared): void {
    prepared.confirmed = true
    if (!prepared.closed) this.confirmed++
  }

  close(text: string): void {
    this.statements.delete(text)
  }

  /** Closes those whose Parse failed or was skipped. */
  closeUnparsed(unparsed: ReadonlyArray<Prepared | undefined>): void {
    if (unparsed.length === 0) return
    for (const [text, prepared] of this.statements.entries()) {
      if (unparsed.includes(prepared)) this.statements.delete(text)
    }
  }
}
