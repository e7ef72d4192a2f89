import { at, type DumpWasmShared } from "./Shared.ts"

const type = (letter: string) => letter.charCodeAt(0)
const authentication = type("R")
const readyForQuery = type("Z")
const copyData = type("d")
/** Notices, parameters and notifications come at any time and don't change whose turn it is. */
const asides = new Set([type("N"), type("S"), type("A")])

/** AuthenticationOk and AuthenticationSASLFinal: the server goes on by itself. All others want an answer. */
const unanswered = new Set([0, 12])
const saslMechanisms = 10
const channelBinding = Buffer.from("SCRAM-SHA-256-PLUS\0")

/**
 * What pg_dump reads from, in its thread: blocks until the server has said something, but not when it is pg_dump's
 * turn to speak. libpq reads once more after a long message and counts on being told that there is nothing.
 */
export class DumpWasmInbox {
  /** Rows of COPY that came, and all bytes. */
  rows = 0
  bytes = 0
  readonly #counters: Int32Array
  readonly #ring: Uint8Array
  readonly #mask: number
  readonly #encrypted: boolean
  /** Positions in the connection, which wrap around as those of the counters: looked at, may be read, and read. */
  #seen = 0
  #free = 0
  #taken = 0
  readonly #head = Buffer.alloc(5)
  #headBytes = 0
  /** Of the message that is coming: bytes after its head that are still to come, and how many there are. */
  #rest = 0
  #length = 0
  #signingIn = true
  #ourTurn = true

  /** `encrypted`: to the server, which pg_dump knows nothing of. */
  constructor({ counters, ring }: DumpWasmShared, encrypted: boolean) {
    this.#counters = counters
    this.#ring = ring
    this.#mask = ring.length - 1
    this.#encrypted = encrypted
  }

  /** pg_dump has said something: an answer comes. */
  answerComes(): void {
    this.#ourTurn = false
  }

  /** How many bytes were put into `target`; 0 when none will come. `room`: the other side may go on. */
  read(target: Uint8Array, room: () => void): number {
    if (this.#free === this.#taken && !this.#wait()) return 0
    const from = this.#taken & this.#mask
    const n = Math.min(target.length, (this.#free - this.#taken) | 0, this.#ring.length - from)
    target.set(this.#ring.subarray(from, from + n))
    this.#taken = (this.#taken + n) | 0
    Atomics.store(this.#counters, at.taken, this.#taken)
    const held = (Atomics.load(this.#counters, at.received) - this.#taken) | 0
    if (held <= this.#ring.length / 2 && Atomics.exchange(this.#counters, at.full, 0) === 1) room()
    return n
  }

  #wait(): boolean {
    for (;;) {
      const event = Atomics.load(this.#counters, at.event)
      // Before the count: what came before the end is still read.
      const closed = Atomics.load(this.#counters, at.closed) === 1
      const received = Atomics.load(this.#counters, at.received)
      if (received !== this.#seen) {
        this.#look(received)
        if (this.#free !== this.#taken) return true
      } else if (closed || this.#ourTurn) {
        return false
      } else {
        Atomics.wait(this.#counters, at.event, event)
      }
    }
  }

  /** Follows the messages up to a position: it is between them that the turn changes. */
  #look(received: number): void {
    this.bytes += (received - this.#seen) | 0
    while (this.#seen !== received) {
      if (this.#rest > 0) {
        const n = Math.min(this.#rest, (received - this.#seen) | 0)
        this.#rest -= n
        this.#seen = (this.#seen + n) | 0
      } else {
        this.#head[this.#headBytes++] = this.#ring[this.#seen & this.#mask] as number
        this.#seen = (this.#seen + 1) | 0
        if (this.#headBytes < this.#head.length) continue
        this.#length = this.#rest = this.#head.readInt32BE(1) - 4
        if (this.#rest < 0) throw new Error("The server does not speak PostgreSQL")
      }
      if (this.#rest === 0 && this.#headBytes === this.#head.length) this.#end(this.#head[0] as number)
    }
    // Before that only whole messages, because they may be changed.
    if (!this.#signingIn) this.#free = this.#seen
  }

  /** A message is there as a whole. */
  #end(letter: number): void {
    this.#headBytes = 0
    if (letter === copyData) this.rows++
    else if (letter === authentication && this.#signingIn) this.#authentication()
    else if (!asides.has(letter)) this.#ourTurn = letter === readyForQuery
    if (letter === readyForQuery) this.#signingIn = false
    this.#free = this.#seen
  }

  #authentication(): void {
    const from = (this.#seen - this.#length) | 0
    const body = Buffer.from(
      Array.from({ length: this.#length }, (_, i) => this.#ring[(from + i) & this.#mask] as number)
    )
    const code = body.readInt32BE(0)
    this.#ourTurn = !unanswered.has(code)
    // libpq refuses a server that offers to bind to TLS where libpq sees none: it must not know that name.
    const offered = code === saslMechanisms && this.#encrypted ? body.indexOf(channelBinding) : -1
    if (offered >= 0) this.#ring[(from + offered) & this.#mask] = type("X")
  }
}
