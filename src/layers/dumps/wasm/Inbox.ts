import { at, type DumpWasmShared } from "./Shared.ts"

const type = (letter: string) => letter.charCodeAt(0)
const authentication = type("R")
const readyForQuery = type("Z")
const copyData = type("d")
/** Notices, parameters and notifications come at any time, and don't change whose turn it is. */
const asynchronous = new Set([type("N"), type("S"), type("A")])

/** AuthenticationOk and AuthenticationSASLFinal: the server continues without a response. */
const unanswered = new Set([0, 12])
const saslMechanisms = 10
const channelBinding = Buffer.from("SCRAM-SHA-256-PLUS\0")

/**
 * The input of pg_dump, in its thread. Reading blocks until the server has sent something, except when it is pg_dump's
 * turn: libpq reads once more after a long message, and expects that there is nothing.
 */
export class DumpWasmInbox {
  /** Received rows of COPY, and all received bytes. */
  rows = 0
  bytes = 0
  readonly #counters: Int32Array
  readonly #ring: Uint8Array
  readonly #mask: number
  readonly #encrypted: boolean
  /** Positions in the stream, which wrap around like the counters: parsed, readable and read. */
  #parsed = 0
  #readable = 0
  #taken = 0
  readonly #head = Buffer.alloc(5)
  #headBytes = 0
  /** Bytes of the current message after its header: remaining, and in total. */
  #rest = 0
  #length = 0
  #authenticating = true
  #ourTurn = true

  /** `encrypted`: the bridge's connection to the server; pg_dump's own is not. */
  constructor({ counters, ring }: DumpWasmShared, encrypted: boolean) {
    this.#counters = counters
    this.#ring = ring
    this.#mask = ring.length - 1
    this.#encrypted = encrypted
  }

  /** pg_dump has sent something, so a response follows. */
  expectResponse(): void {
    this.#ourTurn = false
  }

  /** Reads into `target` and returns the number of bytes; 0 at the end. Calls `onSpace` when the writer may continue. */
  read(target: Uint8Array, onSpace: () => void): number {
    if (this.#readable === this.#taken && !this.#wait()) return 0
    const from = this.#taken & this.#mask
    const n = Math.min(target.length, (this.#readable - this.#taken) | 0, this.#ring.length - from)
    target.set(this.#ring.subarray(from, from + n))
    this.#taken = (this.#taken + n) | 0
    Atomics.store(this.#counters, at.taken, this.#taken)
    const held = (Atomics.load(this.#counters, at.received) - this.#taken) | 0
    if (held <= this.#ring.length / 2 && Atomics.exchange(this.#counters, at.full, 0) === 1) onSpace()
    return n
  }

  #wait(): boolean {
    for (;;) {
      const event = Atomics.load(this.#counters, at.event)
      // Loaded before the count, so that everything before the end is read.
      const closed = Atomics.load(this.#counters, at.closed) === 1
      const received = Atomics.load(this.#counters, at.received)
      if (received !== this.#parsed) {
        this.#parse(received)
        if (this.#readable !== this.#taken) return true
      } else if (closed || this.#ourTurn) {
        return false
      } else {
        Atomics.wait(this.#counters, at.event, event)
      }
    }
  }

  /** Parses the messages up to a position, as turns change between messages. */
  #parse(received: number): void {
    this.bytes += (received - this.#parsed) | 0
    while (this.#parsed !== received) {
      if (this.#rest > 0) {
        const n = Math.min(this.#rest, (received - this.#parsed) | 0)
        this.#rest -= n
        this.#parsed = (this.#parsed + n) | 0
      } else {
        this.#head[this.#headBytes++] = this.#ring[this.#parsed & this.#mask] as number
        this.#parsed = (this.#parsed + 1) | 0
        if (this.#headBytes < this.#head.length) continue
        this.#length = this.#rest = this.#head.readInt32BE(1) - 4
        if (this.#rest < 0) throw new Error("The server does not use the PostgreSQL protocol")
      }
      if (this.#rest === 0 && this.#headBytes === this.#head.length) this.#end(this.#head[0] as number)
    }
    // Messages of the authentication become readable as a whole, because they may be changed.
    if (!this.#authenticating) this.#readable = this.#parsed
  }

  /** Handles the end of a message. */
  #end(letter: number): void {
    this.#headBytes = 0
    if (letter === copyData) this.rows++
    else if (letter === authentication && this.#authenticating) this.#authentication()
    else if (!asynchronous.has(letter)) this.#ourTurn = letter === readyForQuery
    if (letter === readyForQuery) this.#authenticating = false
    this.#readable = this.#parsed
  }

  #authentication(): void {
    const from = (this.#parsed - this.#length) | 0
    const body = Buffer.from(
      Array.from({ length: this.#length }, (_, i) => this.#ring[(from + i) & this.#mask] as number)
    )
    const code = body.readInt32BE(0)
    this.#ourTurn = !unanswered.has(code)
    // libpq rejects a server that offers channel binding on an unencrypted connection, so its name is replaced.
    const offered = code === saslMechanisms && this.#encrypted ? body.indexOf(channelBinding) : -1
    if (offered >= 0) this.#ring[(from + offered) & this.#mask] = type("X")
  }
}
