import { largeAnswer } from "../../../services/access/AnswerBudget.ts"

const dataRow = 0x44
/** A longer message that is no row, such as an error, ends the connection. */
const maxMessageSize = 128 * 1024 * 1024

/**
 * Result of a statement in text format: each value is text or null. A large one stays as its bytes, which are sent as they
 * are: as a string, it would be in memory three times.
 */
export type TextRow = ReadonlyArray<string | Buffer | null>

/** The fields of an ErrorResponse, named as `pg` names them. */
export interface ServerError {
  readonly severity: string
  readonly code: string
  readonly message: string
  readonly detail: string | undefined
  readonly hint: string | undefined
  /** Raised within a function, or anything else for which PostgreSQL gives a context. */
  readonly nested: boolean
}

/** The actions for each message. Other kinds need none. */
export interface MessageHandler {
  readonly parseComplete: () => void
  readonly bindComplete: () => void
  readonly row: (row: TextRow) => void
  /** A row that exceeds the largest size; its values are skipped. */
  readonly oversizedRow: () => void
  /** The start of a row of this many bytes has arrived. False: the rest is read after `resume`. */
  readonly largeRow: (bytes: number) => boolean
  /** CommandComplete or EmptyQueryResponse. */
  readonly commandComplete: () => void
  readonly error: (error: ServerError) => void
  /** `status`: I idle, T in a transaction, E in a failed transaction. */
  readonly ready: (status: string) => void
  /** A message that the row path cannot handle, such as the start of COPY: the session cannot be used any more. */
  readonly unusable: () => void
}

/**
 * Splits the bytes of a connection into the messages of protocol 3.0 that the row path needs (PostgreSQL documentation,
 * chapter "Message Formats"). Values are in text format. Rows larger than `maxRowSize` are skipped without keeping them.
 */
export class MessageReader {
  private readonly handler: MessageHandler
  private readonly maxRowSize: number
  /** The start of a message whose end has not arrived, and how much of it is filled. */
  private pending: Buffer | undefined
  private filled = 0
  /** Bytes of an oversized row that are still to be skipped. */
  private skipping = 0
  /** Chunks that have arrived while a large row has to wait; undefined if none does. */
  private waiting: Array<Buffer> | undefined
  /** The row that has begun to arrive was reported as large. */
  private reported = false

  constructor(handler: MessageHandler, maxRowSize: number) {
    this.handler = handler
    this.maxRowSize = maxRowSize
  }

  push(chunk: Buffer): void {
    if (this.waiting !== undefined) {
      this.waiting.push(chunk)
      return
    }
    let bytes = chunk
    if (this.skipping > 0) {
      const skipped = Math.min(this.skipping, bytes.length)
      this.skipping -= skipped
      bytes = bytes.subarray(skipped)
    }
    if (this.pending !== undefined) bytes = this.joined(this.pending, bytes)
    let at = 0
    while (bytes.length - at >= 5) {
      const length = 1 + bytes.readInt32BE(at + 1)
      const isRow = bytes[at] === dataRow
      if (!isRow && length > maxMessageSize) {
        this.handler.unusable()
        return
      }
      if (isRow && length > this.maxRowSize) {
        this.handler.oversizedRow()
        const here = Math.min(length, bytes.length - at)
        this.skipping = length - here
        at += here
        continue
      }
      if (isRow && length >= largeAnswer && !this.reported) {
        this.reported = true
        if (!this.handler.largeRow(length)) {
          this.waiting = [Buffer.from(bytes.subarray(at))]
          this.pending = undefined
          return
        }
      }
      if (bytes.length - at < length) {
        this.keep(bytes, at, length)
        return
      }
      this.reported = false
      this.message(bytes, at, at + length)
      at += length
    }
    if (at < bytes.length) this.keep(bytes, at, 5)
    else this.pending = undefined
  }

  /** Goes on after `largeRow` was false. */
  resume(): void {
    const waiting = this.waiting ?? []
    this.waiting = undefined
    for (const chunk of waiting) this.push(chunk)
  }

  /** The incomplete message with what has arrived. */
  private joined(pending: Buffer, chunk: Buffer): Buffer {
    const needed = this.filled + chunk.length
    let buffer = pending
    if (needed > buffer.length) {
      buffer = Buffer.allocUnsafeSlow(needed)
      pending.copy(buffer, 0, 0, this.filled)
    }
    chunk.copy(buffer, this.filled)
    this.pending = buffer
    return buffer.subarray(0, needed)
  }

  /** Keeps the bytes from `at` until the message is complete, which has at least `length` bytes. */
  private keep(bytes: Buffer, at: number, length: number) {
    this.filled = bytes.length - at
    // A large message is copied into place once, not once for each chunk.
    if (
      at === 0 &&
      this.pending !== undefined &&
      this.pending.buffer === bytes.buffer &&
      this.pending.length >= length
    ) {
      return
    }
    const rest = bytes.subarray(at)
    this.pending = Buffer.allocUnsafeSlow(Math.max(length, rest.length))
    rest.copy(this.pending)
  }

  private message(bytes: Buffer, at: number, end: number) {
    switch (bytes[at]) {
      case 0x31: // ParseComplete
        this.handler.parseComplete()
        break
      case 0x32: // BindComplete
        this.handler.bindComplete()
        break
      case dataRow:
        this.handler.row(rowOf(bytes, at + 5))
        break
      case 0x56: // FunctionCallResponse
        this.handler.row([valueAt(bytes, at + 5)])
        break
      case 0x43: // CommandComplete
      case 0x49: // EmptyQueryResponse
        this.handler.commandComplete()
        break
      case 0x45: // ErrorResponse
        this.handler.error(errorOf(bytes, at + 5, end))
        break
      case 0x5a: // ReadyForQuery
        this.handler.ready(String.fromCharCode(bytes[at + 5] ?? 0))
        break
      case 0x47: // CopyInResponse
      case 0x48: // CopyOutResponse
      case 0x57: // CopyBothResponse
        this.handler.unusable()
        break
      default: // CloseComplete, NoData, notices, notifications, changed parameters
        break
    }
  }
}

const rowOf = (bytes: Buffer, start: number): TextRow => {
  const count = bytes.readInt16BE(start)
  const row: Array<string | Buffer | null> = []
  let at = start + 2
  for (let column = 0; column < count; column++) {
    const value = valueAt(bytes, at)
    row.push(value)
    at += 4 + Math.max(bytes.readInt32BE(at), 0)
  }
  return row
}

const valueAt = (bytes: Buffer, at: number): string | Buffer | null => {
  const length = bytes.readInt32BE(at)
  if (length < 0) return null
  const [from, to] = [at + 4, at + 4 + length]
  return length < largeAnswer ? bytes.toString("utf8", from, to) : bytes.subarray(from, to)
}

const errorOf = (bytes: Buffer, start: number, end: number): ServerError => {
  const fields = new Map<string, string>()
  let at = start
  while (at < end && bytes[at] !== 0) {
    const stop = bytes.indexOf(0, at + 1)
    fields.set(String.fromCharCode(bytes[at] ?? 0), bytes.toString("utf8", at + 1, stop))
    at = stop + 1
  }
  return {
    severity: fields.get("V") ?? fields.get("S") ?? "ERROR",
    code: fields.get("C") ?? "XX000",
    message: fields.get("M") ?? "",
    detail: fields.get("D"),
    hint: fields.get("H"),
    nested: fields.has("W")
  }
}
