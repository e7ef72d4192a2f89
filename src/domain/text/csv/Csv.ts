import { JsonWriter } from "../JsonWriter.ts"

/** Tables of PostgreSQL have no more columns. */
const maxColumns = 1600

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const openBracket = 0x5b
const closeBracket = 0x5d
const closeBrace = 0x7d

/** The position of the next byte in a field. */
const state = {
  start: 0,
  plain: 1,
  quoted: 2,
  /** After a quote in a quoted field, which either ends it or is the first of two. */
  unquoted: 3
} as const

/** Bytes at which a field that is not quoted ends, or is invalid. */
const endsRun = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(code === quote || code === comma || code === lineFeed || code === carriageReturn)
)

const byteOrderMark = Buffer.from("\uFEFF")
const nullText = Buffer.from("null")

/**
 * Makes JSON of rows in CSV (RFC 4180) in steps, so that other work can run between them: fields are separated by commas,
 * and quoted if they contain commas, quotes (doubled) or line ends. Lines end with CRLF, LF or CR, optional for the last
 * one. Empty lines are skipped, unless there is one column: as by COPY, such a line is a row. The first record has the
 * column names. Without quotes, an empty field and NULL are null; everything else is text. One row becomes an object, not
 * an array. The bytes must be valid UTF-8. Not csv-parse: it makes a list of texts of each record,
 * which took 130 ms for 2.7 MB where this takes 25 ms, JSON included.
 */
export class CsvRows {
  /** Why the text is rejected. */
  problem: string | undefined
  /** The JSON would exceed the limit. */
  tooLarge = false
  private readonly bytes: Buffer
  private readonly limit: number
  private readonly out: JsonWriter
  private at: number
  private state: number = state.start
  private line = 1
  /** The line on which the quoted field begins. */
  private opened = 1
  /** The last byte was a carriage return, of which a line feed is a part. */
  private returned = false
  /** The bytes before each value of a row, once the column names are read. */
  private prefixes: ReadonlyArray<Buffer> | undefined
  private readonly names: Array<string> = []
  private rows = 0
  /** The offsets in the JSON at which the record and the text of its field begin. */
  private recordFrom = 0
  private fieldFrom = 0
  /** The fields of the record that have begun, and whether the last one that ended is empty. */
  private fields = 0
  private empty = false
  /** The field began with a quote. */
  private inQuotes = false

  /** `limit`: the most bytes of JSON. */
  constructor(bytes: Buffer, limit: number) {
    this.bytes = bytes
    this.limit = limit
    // Growing means copying, and memory that is not written to costs nothing. A field may exceed the limit.
    this.out = new JsonWriter(bytes.length > 2 ** 16 ? limit + 2 ** 20 : 4 * bytes.length + 256)
    this.out.byte(openBracket)
    this.at = bytes.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0
  }

  /** Reads at most `size` bytes, and writes about 16 times as many. Returns whether this was the last step. */
  step(size: number): boolean {
    const { bytes, limit, out } = this
    const end = Math.min(bytes.length, this.at + size)
    const full = Math.min(limit, out.length + 16 * size)
    while (this.at < end && this.problem === undefined && out.length <= full) this.read(end)
    this.tooLarge = out.length > limit
    if (this.problem !== undefined || this.tooLarge) return true
    if (this.at < bytes.length) return false
    this.finish()
    return true
  }

  /** The rows, if the text is valid. */
  get json(): Buffer {
    return this.rows === 1 ? this.out.written(1, this.out.length - 1) : this.out.written()
  }

  /** A run of bytes that belong to a field, or one byte between fields. */
  private read(end: number) {
    const { bytes } = this
    const from = this.at
    const byte = bytes[from] ?? 0
    if (this.state === state.quoted) {
      this.readQuoted(end)
      return
    }
    const isRest = this.returned && byte === lineFeed
    this.returned = false
    if (isRest) {
      this.at++
      return
    }
    switch (this.state) {
      case state.unquoted:
        if (byte === quote) {
          this.out.text(bytes, from, from + 1)
          this.state = state.quoted
          this.at++
        } else this.endField(byte, "something follows a quoted field")
        return
      case state.start:
        this.beginField()
        if (this.problem !== undefined) return
        this.state = state.plain
        if (byte === quote) {
          this.state = state.quoted
          this.inQuotes = true
          this.opened = this.line
          this.at++
          return
        }
    }
    let at = from
    while (at < end && endsRun[bytes[at] ?? 0] === 0) at++
    this.out.text(bytes, from, at)
    this.at = at
    if (at < end) this.endField(bytes[at] ?? 0, "a quote is in a field that is not quoted")
  }

  /** A run of a quoted field, and the quote after it. */
  private readQuoted(end: number) {
    const { at: from, bytes } = this
    let at = from
    for (; at < end && bytes[at] !== quote; at++) {
      const byte = bytes[at]
      if (byte === carriageReturn || (byte === lineFeed && !this.returned)) this.line++
      this.returned = byte === carriageReturn
    }
    this.out.text(bytes, from, at)
    this.at = at
    if (at === end) return
    this.state = state.unquoted
    this.returned = false
    this.at++
  }

  private beginField() {
    const { out, prefixes } = this
    if (this.fields === 0) {
      this.recordFrom = out.length
      if (this.rows > 0) out.byte(comma)
    }
    const prefix = prefixes?.[this.fields]
    if (prefix !== undefined) out.raw(prefix)
    else if (prefixes !== undefined && this.fields === prefixes.length) this.problem = this.unequal(this.fields + 1)
    else if (this.fields === maxColumns) this.problem = invalid(`there are more than ${maxColumns} columns`)
    this.fields++
    this.inQuotes = false
    this.fieldFrom = out.length
  }

  /** The field ends before this byte, if the byte allows it. */
  private endField(byte: number, otherwise: string) {
    if (byte !== comma && byte !== lineFeed && byte !== carriageReturn) {
      this.problem = invalid(`line ${this.line}: ${otherwise}`)
      return
    }
    this.at++
    this.closeField()
    if (byte === comma) return
    this.closeRecord()
    this.line++
    this.returned = byte === carriageReturn
  }

  private closeField() {
    const { out } = this
    this.state = state.start
    this.empty = out.length === this.fieldFrom
    if (this.prefixes === undefined) {
      this.names.push(out.written(this.fieldFrom).toString("utf8"))
      return
    }
    const isNamed = out.length - this.fieldFrom === nullText.length && out.written(this.fieldFrom).equals(nullName)
    if (!this.inQuotes && (this.empty || isNamed)) {
      // Replaces the quote before it too.
      out.length = this.fieldFrom - 1
      out.raw(nullText)
    } else out.byte(quote)
  }

  private closeRecord() {
    const { fields, names, out, prefixes } = this
    const nothing = fields === 1 && this.empty && prefixes?.length !== 1
    this.fields = 0
    if (nothing || prefixes === undefined) out.length = this.recordFrom
    if (nothing) names.length = prefixes === undefined ? 0 : names.length
    else if (prefixes === undefined) this.begin()
    else if (fields < prefixes.length) this.problem = this.unequal(fields)
    else {
      out.byte(closeBrace)
      this.rows++
    }
  }

  private unequal(fields: number) {
    const wanted = this.prefixes?.length ?? 0
    return `All lines must have same number of fields: line ${this.line} has ${fields > wanted ? "more than " : ""}${Math.min(fields, wanted)}, the first line has ${wanted}`
  }

  /** The first record has ended. */
  private begin() {
    if (new Set(this.names).size < this.names.length) this.problem = invalid("a column name is repeated")
    this.prefixes = this.names.map((name, at) => Buffer.from(`${at === 0 ? "{" : ","}"${name}":"`))
  }

  private finish() {
    if (this.state === state.quoted) this.problem = invalid(`line ${this.opened}: a quoted field does not end`)
    else if (this.state !== state.start || this.fields > 0) {
      // A comma at the end of the text is followed by an empty field.
      if (this.state === state.start) this.beginField()
      if (this.problem !== undefined) return
      this.closeField()
      this.closeRecord()
    }
    if (this.prefixes === undefined) this.problem ??= invalid("the line with the column names is missing")
    this.out.byte(closeBracket)
  }
}

const nullName = Buffer.from("NULL")

const invalid = (why: string) => `The body is not valid CSV: ${why}`
