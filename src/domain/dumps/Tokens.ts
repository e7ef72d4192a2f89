import { quotedName, type StatementShape } from "./Statement.ts"

/** PostgreSQL cuts longer ones off. */
const longestWord = 63
const longestTag = 10_000
const longestCommand = 1_000

/** As PostgreSQL's scanner: letters, `_` and every byte that is not ASCII begin a word. */
const beginsWord = (byte: number) =>
  (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || byte === 95 || byte >= 128
const isDigit = (byte: number) => byte >= 48 && byte <= 57

/**
 * Where in the script a byte is: in a word; behind a `-`, `/` or `$` of which it is open what they begin; in '…', "…",
 * E'…'; in comments; in $tag$…$tag$; on a line that begins with a backslash; on the line of a COPY that wants rows, and
 * in its rows.
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
  | "behind backslash"
  | "behind quote"
  | "line"
  | "block"
  | "dollar"
  | "command"
  | "copy"
  | "rows"

/** What is told about the script as it is read. */
export interface DumpTokensSink {
  readonly shape: StatementShape
  /** Whether a statement has begun. */
  readonly begun: boolean
  /** Here is something that is neither white space nor a comment; -1: it is the byte before the piece. */
  readonly begin: (at: number) => void
  /** A line that begins with a backslash, outside of statements. */
  readonly command: (line: string) => void
  readonly fail: (problem: string) => void
}

/** Finds where texts, names and comments begin and end in a script whose pieces may be cut anywhere. */
export class DumpTokens {
  /** The session's standard_conforming_strings; off, a backslash escapes in '…' too. */
  standardStrings = true
  mode: Mode = "code"
  /** The byte before the piece that is being read. */
  previous = 10
  private readonly sink: DumpTokensSink
  /** Of a word, a tag or a command: what has been read. */
  private text = ""
  /** How many block comments are open, and the byte that may be the first of an edge. */
  private depth = 0
  private edge = 0
  /** `$tag$`, and what was read last, where its end may begin. */
  private tag: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)
  /** Behind E'…': 1, and 2 when a line has ended since, so that another quote goes on with it. */
  private continuing = 0

  constructor(sink: DumpTokensSink) {
    this.sink = sink
  }

  /** Reads on from `at`; gives where the next step goes on, which may be the same place in another mode. */
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
      case "behind backslash":
        this.mode = "escaped"
        return at + 1
      case "behind quote":
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
      else this.sink.fail("There is a backslash outside of a text; commands of psql are never run")
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
    // A doubled quote in a name is two names side by side.
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
        if (this.text.length <= longestWord) this.text += String.fromCharCode(byte)
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

  /** `--` and `/*` begin comments; otherwise the first of the two was a part of the statement. */
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
      if (this.text.length > longestTag) this.sink.fail(`A dollar quote's tag has more than ${longestTag} bytes`)
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
        this.mode = chunk[here] === 39 ? "behind quote" : "behind backslash"
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

  /** A comment or a command to the end of its line, or the rest of the line of a COPY. */
  private inLine(chunk: Buffer, at: number): number {
    for (let here = at; here < chunk.length; here++) {
      const byte = chunk[here] as number
      const ended = byte === 10 || (byte === 13 && this.mode === "line")
      if (this.mode === "copy" && byte !== 32 && byte !== 13 && !ended) {
        this.sink.fail("Something stands between a COPY statement and its rows")
        return here
      }
      if (ended) {
        if (this.mode === "command") this.sink.command(this.text)
        this.mode = this.mode === "copy" ? "rows" : "code"
        return this.mode === "rows" ? here + 1 : here
      }
      if (this.mode !== "command") continue
      this.text += String.fromCharCode(byte)
      if (this.text.length > longestCommand) {
        this.sink.fail("A line that begins with a backslash has no end")
        return here
      }
    }
    return chunk.length
  }
}
