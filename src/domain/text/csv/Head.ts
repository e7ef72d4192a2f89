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
