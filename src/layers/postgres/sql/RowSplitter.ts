const dataRow = 0x44
const nothing = Buffer.alloc(0)
/** Type and length of a message. */
const headSize = 5

type OnRow = (bytes: Buffer, start: number, size: number) => void

/**
 * Takes the rows from the bytes of a connection (PostgreSQL documentation, "Message Formats"), which arrive in pieces.
 * `onRow` gets the content of each: bytes, where it starts, its size.
 */
export class RowSplitter {
  private readonly onRow: OnRow
  /** The pieces of a message whose end has not arrived. */
  private pieces: Array<Buffer> = []
  private held = 0
  /** Bytes without which the message is not complete. */
  private needed = headSize

  constructor(onRow: OnRow) {
    this.onRow = onRow
  }

  /** Returns the other messages that have ended. */
  push(chunk: Buffer): Buffer {
    const others: Array<Buffer> = []
    let at = 0
    while (this.held > 0 && at < chunk.length) {
      // Only the message that is cut is joined: a buffer of all bytes would be memory that only full collections free.
      const more = Math.min(this.needed - this.held, chunk.length - at)
      this.pieces.push(chunk.subarray(at, at + more))
      this.held += more
      at += more
      if (this.held === this.needed) this.joined(others)
    }
    while (chunk.length - at >= headSize) {
      const end = at + 1 + chunk.readInt32BE(at + 1)
      if (end > chunk.length) break
      this.message(chunk, at, end, others)
      at = end
    }
    if (at < chunk.length) {
      this.pieces = [chunk.subarray(at)]
      this.held = chunk.length - at
      this.needed = this.held < headSize ? headSize : 1 + chunk.readInt32BE(at + 1)
    }
    return others.length === 1 ? (others[0] ?? nothing) : Buffer.concat(others)
  }

  /** The head has arrived, which has the length of the message, or all of it has. */
  private joined(others: Array<Buffer>) {
    const bytes = Buffer.concat(this.pieces)
    const end = 1 + bytes.readInt32BE(1)
    if (bytes.length < end) {
      this.pieces = [bytes]
      this.needed = end
      return
    }
    this.message(bytes, 0, end, others)
    this.pieces = []
    this.held = 0
    this.needed = headSize
  }

  private message(bytes: Buffer, at: number, end: number, others: Array<Buffer>) {
    if (bytes[at] === dataRow) this.onRow(bytes, at + headSize, end - at - headSize)
    else others.push(bytes.subarray(at, end))
  }
}
