const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const nullText = Buffer.from("NULL")
const nothing = Buffer.alloc(0)

/**
 * Empties the cells of a CSV that are NULL without quotes, from bytes that arrive in pieces: COPY accepts one text of
 * NULL, and a CSV has two, that one and the empty cell.
 */
export class CsvNulls {
  private quoted = false
  /** The bytes of a cell that may become NULL, which are not passed on yet; undefined: the cell is another text. */
  private held: Buffer | undefined = nothing

  /** The bytes that can be passed on. */
  add(piece: Uint8Array): Buffer {
    const bytes =
      this.held === undefined || this.held.length === 0
        ? Buffer.from(piece.buffer, piece.byteOffset, piece.length)
        : Buffer.concat([this.held, piece])
    const parts: Array<Buffer> = []
    let from = 0
    let cell = this.held === undefined ? -1 : 0
    let { quoted } = this
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === quote) quoted = !quoted
      else if (!quoted && (byte === comma || byte === lineFeed || byte === carriageReturn)) {
        if (at - cell === nullText.length && cell >= 0 && nullText.equals(bytes.subarray(cell, at))) {
          parts.push(bytes.subarray(from, cell))
          from = at
        }
        cell = at + 1
      }
    }
    this.quoted = quoted
    const rest = cell < 0 ? undefined : bytes.subarray(cell)
    this.held = rest !== undefined && nullText.indexOf(rest) === 0 ? rest : undefined
    parts.push(bytes.subarray(from, bytes.length - (this.held?.length ?? 0)))
    return parts.length === 1 ? (parts[0] ?? nothing) : Buffer.concat(parts)
  }

  /** The bytes of the last cell. */
  end(): Buffer {
    return this.held === undefined || this.held.equals(nullText) ? nothing : this.held
  }
}
