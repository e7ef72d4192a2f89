import { quotedName, type StatementShape } from "./Statement.ts"

/** PostgreSQL truncates longer names. */
const maxWord = 63
const maxTag = 10_000
const maxCommand = 1_000

/** Letters, `_` and all non-ASCII bytes begin a word, as in PostgreSQL's scanner. */
const beginsWord = (byte: number) =>
  (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || byte === 95 || byte >= 128
const isDigit = (byte: number) => byte >= 48 && byte <= 57

/**
 * The position of a byte: in a word; after a `-`, `/` or `$` that may begin a comment or a tag; in '…', "…", E'…'; in
 * comments; in $tag$…$tag$; on a line that begins with a backslash; after a COPY that requests rows, and in its rows.
 */
type Mode =
  | "code"
  | "word"
  | "dash"
  | "slash"
  | "tag"
  | "string"
  | "name"
  | "escaped"
  | "after backslash"
  | "after quote"
  | "line"
  | "block"
  | "dollar"
  | "command"
  | "copy"
  | "rows"

/** Receives the tokens of the script. */
export interface DumpTokensSink {
  readonly shape: StatementShape
  /** Whether a statement has begun. */
  readonly begun: boolean
  /** Something other than white space and comments begins here; -1: at the byte before the chunk. */
  readonly begin: (at: number) => void
  /** A line that begins with a backslash, outside of statements. */
  readonly command: (line: string) => void
  readonly fail: (problem: string) => void
}

/** Finds strings, names and comments in a script, from any chunks. */
export class DumpTokens {
  /** The session's standard_conforming_strings; off, a backslash escapes in '…' too. */
  standardStrings = true
  mode: Mode = "code"
  /** The byte before the current chunk. */
  previous = 10
  private readonly sink: DumpTokensSink
  /** The word, tag or command so far. */
  private text = ""
  /** Depth of nested block comments, and the previous byte if it may begin a delimiter. */
  private depth = 0
  private edge = 0
  /** `$tag$`, and the last bytes, in which its end may begin. */
  private tag: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)
  /** 1 after E'…'; 2 after a following line break, when another quote continues the string. */
  private continuing = 0

  constructor(sink: DumpTokensSink) {
    this.sink = sink
  }

  /** Reads from `at`; returns where the next step continues, which may be the same position in another mode. */
  step(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number
    switch (this.mode) {
      case "code":
        return this.code(chunk, at, byte)
      case "word":
        return this.inWord(chunk, at)
      case "dash":
      case "slash":
        return this.inPair(at, byte)
      case "tag":
        return this.inTag(at, byte)
      case "string":
      case "name":
        return this.until(chunk, at, this.mode === "string" ? 39 : 34)
      case "escaped":
        return this.inEscaped(chunk, at)
      case "after backslash":
        this.mode = "escaped"
        return at + 1
      case "after quote":
        this.mode = byte === 39 ? "escaped" : "code"
        if (byte !== 39) this.continuing = 1
        return byte === 39 ? at + 1 : at
      case "block":
        return this.inBlock(chunk, at)
      case "dollar":
        return this.inDollar(chunk, at)
      default:
        return this.inLine(chunk, at)
    }
  }

  private code(chunk: Buffer, at: number, byte: number): number {
    if (byte === 32 || (byte >= 9 && byte <= 13)) {
      if (this.continuing === 1 && (byte === 10 || byte === 13)) this.continuing = 2
      return at + 1
    }
    const before = at > 0 ? chunk[at - 1] : this.previous
    if (byte === 45 || byte === 47) {
      this.mode = byte === 45 ? "dash" : "slash"
      return at + 1
    }
    if (byte === 92) {
      this.text = ""
      if (!this.sink.begun && before === 10) this.mode = "command"
      else this.sink.fail("The script contains a backslash outside strings; psql commands are not supported")
      return at
    }
    this.sink.begin(at)
    const escapes = !this.standardStrings || this.continuing === 2
    this.continuing = 0
    if (beginsWord(byte)) {
      this.mode = "word"
      this.text = ""
      return at
    }
    if (byte === 40 || byte === 41) this.sink.shape.parenthesis(byte === 40)
    else if (byte !== 34) this.sink.shape.token("")
    // A doubled quote in a name is read as two adjacent names.
    else if (before !== 34) this.sink.shape.token(quotedName)
    if (byte === 39) this.mode = escapes ? "escaped" : "string"
    else if (byte === 34) this.mode = "name"
    else if (byte === 36) {
      this.mode = "tag"
      this.text = "$"
    }
    return at + 1
  }

  private inWord(chunk: Buffer, at: number): number {
    let here = at
    for (; here < chunk.length; here++) {
      const byte = chunk[here] as number
      if (beginsWord(byte) || isDigit(byte) || byte === 36) {
        if (this.text.length <= maxWord) this.text += String.fromCharCode(byte)
        continue
      }
      const upper = this.text.toUpperCase()
      this.mode = upper === "E" && byte === 39 ? "escaped" : "code"
      if (this.mode === "code") this.sink.shape.word(upper)
      else this.sink.shape.token("")
      return this.mode === "code" ? here : here + 1
    }
    return here
  }

  /** `--` and `/*` begin comments; otherwise the first byte belongs to the statement. */
  private inPair(at: number, byte: number): number {
    if (this.mode === "dash" ? byte === 45 : byte === 42) {
      this.mode = this.mode === "dash" ? "line" : "block"
      if (this.mode === "block") this.continuing = 0
      this.depth = 1
      this.edge = 0
      return at + 1
    }
    this.sink.begin(at - 1)
    this.continuing = 0
    this.sink.shape.token("")
    this.mode = "code"
    return at
  }

  private inTag(at: number, byte: number): number {
    if (byte === 36) {
      this.tag = Buffer.from(`${this.text}$`, "latin1")
      this.tail = Buffer.alloc(0)
      this.mode = "dollar"
      return at + 1
    }
    if (beginsWord(byte) || (this.text.length > 1 && isDigit(byte))) {
      this.text += String.fromCharCode(byte)
      if (this.text.length > maxTag) this.sink.fail(`The tag of a dollar quote has more than ${maxTag} bytes`)
      return at + 1
    }
    this.mode = "code"
    return at
  }

  private until(chunk: Buffer, at: number, quote: number): number {
    const end = chunk.indexOf(quote, at)
    if (end < 0) return chunk.length
    this.mode = "code"
    return end + 1
  }

  private inEscaped(chunk: Buffer, at: number): number {
    for (let here = at; here < chunk.length; here++) {
      if (chunk[here] === 39 || chunk[here] === 92) {
        this.mode = chunk[here] === 39 ? "after quote" : "after backslash"
        return here + 1
      }
    }
    return chunk.length
  }

  private inBlock(chunk: Buffer, at: number): number {
    for (let here = at; here < chunk.length; here++) {
      const byte = chunk[here] as number
      const opens = this.edge === 47 && byte === 42
      const closes = this.edge === 42 && byte === 47
      this.edge = opens || closes ? 0 : byte
      if (opens) this.depth++
      else if (closes && --this.depth === 0) {
        this.mode = "code"
        return here + 1
      }
    }
    return chunk.length
  }

  private inDollar(chunk: Buffer, at: number): number {
    const { length } = this.tag
    const border = Buffer.concat([this.tail, chunk.subarray(at, at + length)])
    const over = border.indexOf(this.tag)
    const found = over < 0 ? chunk.indexOf(this.tag, at) : at + over - this.tail.length
    if (over >= 0 || found >= 0) {
      this.mode = "code"
      return found + length
    }
    const last = chunk.length - at >= length ? chunk.subarray(chunk.length - length + 1) : border
    this.tail = Buffer.from(last.subarray(Math.max(0, last.length - length + 1)))
    return chunk.length
  }

  /** A comment, a command or a COPY, to the end of the line. */
  private inLine(chunk: Buffer, at: number): number {
    for (let here = at; here < chunk.length; here++) {
      const byte = chunk[here] as number
      const ended = byte === 10 || (byte === 13 && this.mode === "line")
      if (this.mode === "copy" && byte !== 32 && byte !== 13 && !ended) {
        this.sink.fail("The script has text between a COPY statement and its rows")
        return here
      }
      if (ended) {
        if (this.mode === "command") this.sink.command(this.text)
        this.mode = this.mode === "copy" ? "rows" : "code"
        return this.mode === "rows" ? here + 1 : here
      }
      if (this.mode !== "command") continue
      this.text += String.fromCharCode(byte)
      if (this.text.length > maxCommand) {
        this.sink.fail("The script has an unterminated line that begins with a backslash")
        return here
      }
    }
    return chunk.length
  }
}
