const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const lineFeed = 0x0a

/** Bytes for which PostgreSQL quotes a value in the text of a row, as `csvSql` has it. */
const needsQuotes = Uint8Array.from({ length: 256 }, (_, code) =>
  Number('\t\n\v\f\r "(),'.includes(String.fromCharCode(code)) || code === backslash)
)
const nullName = Buffer.from("NULL")

/** Bytes of the buffer that is kept. */
const keptSize = 128 * 1024

/** A shorter value is copied in a loop, which is quicker than a call. */
const shortValue = 32

/** Writes rows of PostgreSQL's protocol as lines of CSV: the same text as `csvSql`, of one line after the other. */
export class CsvLines {
  /** Bytes that wait to be taken. */
  length = 0
  /** Kept and written again: a buffer for each piece would be memory that only full collections free. */
  private out: Buffer = Buffer.alloc(0)
  private begun = false
  /** The last line is empty, and its row has one column at most. */
  private open = false

  /** Adds a row: the content of a DataRow from `start` on, which has `size` bytes. */
  add(bytes: Buffer, start: number, size: number) {
    // Every byte may be a quote, which is doubled, and each value has four bytes of length: enough for quotes and a comma.
    this.reserve(2 * size + 1)
    if (this.begun) this.out[this.length++] = lineFeed
    this.begun = true
    const line = this.length
    const columns = bytes.readInt16BE(start)
    let at = start + 2
    for (let column = 0; column < columns; column++) {
      const length = bytes.readInt32BE(at)
      at += 4
      if (column > 0) this.out[this.length++] = comma
      if (length < 0) continue
      this.value(bytes, at, at + length)
      at += length
    }
    this.open = columns < 2 && this.length === line
  }

  /** The lines since the last call. A break follows each but the last. */
  take(): Buffer {
    const lines = Buffer.from(this.out.subarray(0, this.length))
    if (this.out.length > keptSize) this.out = Buffer.alloc(0)
    this.length = 0
    return lines
  }

  /** What follows the last line: a break if the line would not be one without it. */
  end(): Buffer {
    return Buffer.from(this.open ? "\n" : "")
  }

  private value(bytes: Buffer, from: number, to: number) {
    let at = from
    while (at < to && needsQuotes[bytes[at] ?? 0] === 0) at++
    const isNull = to - from === nullName.length && nullName.compare(bytes, from, to) === 0
    if (at < to || from === to || isNull) this.quoted(bytes, from, to)
    else this.run(bytes, from, to)
  }

  private quoted(bytes: Buffer, from: number, to: number) {
    const { out } = this
    let { length } = this
    out[length++] = quote
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0
      out[length++] = byte
      if (byte === quote) out[length++] = quote
    }
    out[length++] = quote
    this.length = length
  }

  private run(bytes: Buffer, from: number, to: number) {
    const { length, out } = this
    if (to - from > shortValue) bytes.copy(out, length, from, to)
    else for (let at = from; at < to; at++) out[length + at - from] = bytes[at] ?? 0
    this.length += to - from
  }

  private reserve(more: number) {
    const needed = this.length + more
    if (needed <= this.out.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.out.length * 2, keptSize))
    this.out.copy(larger, 0, 0, this.length)
    this.out = larger
  }
}
