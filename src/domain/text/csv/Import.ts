const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** A longer first record is no list of column names. */
const maxHead = 256 * 1024

const byteOrderMark = Buffer.from("\uFEFF")

/**
 * Reads the first record of a CSV, the column names, from bytes that arrive in pieces. The rest is not read: PostgreSQL
 * reads it.
 */
export class CsvHead {
  /** The bytes so far, without a byte order mark. */
  bytes: Buffer = Buffer.alloc(0)
  /** Why the text is rejected. */
  problem: string | undefined
  /** Once the record has ended. */
  names: ReadonlyArray<string> | undefined

  /** Adds bytes. Returns whether no more are needed. `last`: these are the last ones. */
  add(piece: Uint8Array, last = false): boolean {
    const all = Buffer.concat([this.bytes, piece])
    this.bytes = all.indexOf(byteOrderMark) === 0 ? all.subarray(byteOrderMark.length) : all
    const maybe = last || piece.includes(lineFeed) || piece.includes(carriageReturn)
    const names = maybe ? this.read(last) : undefined
    if (names === undefined && this.bytes.length > maxHead) {
      this.problem ??= `the line with the column names exceeds ${maxHead / 1024} KiB`
    }
    if (names?.some((name) => name === "") === true) this.problem ??= "a column name is empty"
    if (names !== undefined && new Set(names).size < names.length) this.problem ??= "a column name is repeated"
    this.names = names
    return names !== undefined || this.problem !== undefined
  }

  private read(last: boolean): ReadonlyArray<string> | undefined {
    const { bytes } = this
    const end = Math.min(bytes.length, maxHead)
    const names: Array<string> = []
    let at = 0
    for (;;) {
      const quoted = bytes[at] === quote
      const from = quoted ? at + 1 : at
      let to = from
      if (quoted) {
        while (to < end && (bytes[to] !== quote || bytes[to + 1] === quote)) to += bytes[to] === quote ? 2 : 1
      } else while (to < end && bytes[to] !== comma && bytes[to] !== lineFeed && bytes[to] !== carriageReturn) to++
      const next = quoted ? to + 1 : to
      // The byte after it decides whether a quote or the record has ended.
      if (next >= end && !(last && (!quoted || to < end))) return undefined
      const text = bytes.toString("utf8", from, to)
      names.push(quoted ? text.replaceAll('""', '"') : text)
      const ends = bytes[next]
      if (ends === undefined || ends === lineFeed || ends === carriageReturn) return names
      if (ends !== comma) this.problem = "line 1: something follows a quoted field"
      if (this.problem !== undefined) return undefined
      at = next + 1
    }
  }
}

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
