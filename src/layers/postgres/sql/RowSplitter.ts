const dataRow = 0x44
const nothing = Buffer.alloc(0)
/** Type and length of a message. */
const headSize = 5

/**
 * Takes the rows from the bytes of a connection (PostgreSQL documentation, "Message Formats"), which arrive in pieces.
 * `onRow` gets the content of each: bytes, where it starts, its size.
 */
export class RowSplitter {
  private readonly onRow: (bytes: Buffer, start: number, size: number) => void
  /** The pieces of a message whose end has not arrived. */
  private pieces: Array<Buffer> = []
  private held = 0
  /** Bytes without which the message is not complete. */
  private needed = headSize

  constructor(onRow: (bytes: Buffer, start: number, size: number) => void) {
    this.onRow = onRow
  }

  /** Returns the other messages that have ended. */
  push(chunk: Buffer): Buffer {
    this.pieces.push(chunk)
    this.held += chunk.length
    if (this.held < this.needed) return nothing
    const bytes = this.pieces.length === 1 ? chunk : Buffer.concat(this.pieces)
    const others: Array<Buffer> = []
    this.needed = headSize
    let at = 0
    while (bytes.length - at >= headSize) {
      const end = at + 1 + bytes.readInt32BE(at + 1)
      if (end > bytes.length) {
        this.needed = end - at
        break
      }
      if (bytes[at] === dataRow) this.onRow(bytes, at + headSize, end - at - headSize)
      else others.push(bytes.subarray(at, end))
      at = end
    }
    this.held = bytes.length - at
    this.pieces = this.held === 0 ? [] : [bytes.subarray(at)]
    return others.length === 1 ? (others[0] ?? nothing) : Buffer.concat(others)
  }
}
