/** PostgreSQL's own limit depends on its `max_stack_depth`: with the default, 16,000 levels of jsonb and 21,000 of json. */
export const maxJsonDepth = 10_000

/** Receives the rows of a text: the elements of an array, or else the whole value. Places are numbers of bytes. */
export interface JsonRowReader {
  readonly open: (at: number, isObject: boolean) => void
  /** A name in a row that is an object, between its quotes. */
  readonly name: (from: number, to: number, escaped: boolean) => void
  readonly close: (to: number) => void
}

/** The element of the next byte. In the first six states, spaces may precede it. */
const state = {
  value: 0,
  /** A value, or the end of an empty array. */
  element: 1,
  /** A name, or the end of an empty object. */
  member: 2,
  name: 3,
  colon: 4,
  /** A comma or an end; at the top level, nothing. */
  after: 5,
  text: 6,
  escape: 7,
  hex: 8,
  literal: 9,
  minus: 10,
  zero: 11,
  digits: 12,
  point: 13,
  fraction: 14,
  e: 15,
  sign: 16,
  exponent: 17,
  invalid: 18
} as const

const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const dash = 0x2d
const dot = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const letterU = 0x75
const openBrace = 0x7b
const closeBrace = 0x7d

const setOf = (characters: string) =>
  Uint8Array.from({ length: 256 }, (_, code) => Number(characters.includes(String.fromCharCode(code))))
const hexDigits = setOf("0123456789abcdefABCDEF")
const escapes = setOf('"\\/bfnrt')
const exponents = setOf("eE")
/** Bytes that a text cannot contain as they are. */
export const mustEscape = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(code < 0x20 || code === quote || code === backslash)
)
const literals: ReadonlyArray<string | undefined> = Array.from({ length: 256 }, (_, code) =>
  ["true", "false", "null"].find((word) => word.charCodeAt(0) === code)
)

const isDigit = (byte: number) => byte >= zero && byte <= nine

/** The state in a value after its first byte, but for arrays and objects. */
const afterFirst = (byte: number): number => {
  if (byte === quote) return state.text
  if (byte === zero) return state.zero
  if (isDigit(byte)) return state.digits
  if (byte === dash) return state.minus
  return literals[byte] === undefined ? state.invalid : state.literal
}

/**
 * Validates JSON (RFC 8259) exactly as `JSON.parse` does, up to a depth, without making objects of it. Works in steps, so
 * that other work can run between them. The bytes must be valid UTF-8.
 */
export class JsonScanner {
  /** Why the text is rejected, after the last step. */
  problem: "invalid" | "deep" | undefined
  form: "object" | "array" | "other" = "other"
  private readonly bytes: Uint8Array
  private readonly rows: JsonRowReader
  private at = 0
  private state: number = state.value
  private depth = 0
  /** The depth of the value in which the rows are: 1 in an array. */
  private base = 0
  /** Whether the value that is open at each depth is an object. */
  private readonly isObject: Array<boolean> = [false]
  /** Whether the text being read is a name, where it begins, and whether it has escapes. */
  private naming = false
  private textFrom = 0
  private escaped = false
  /** The literal being read, and how much of it, or of the digits of an escape, was found. */
  private literal = ""
  private found = 0

  constructor(bytes: Uint8Array, rows: JsonRowReader) {
    this.bytes = bytes
    this.rows = rows
  }

  /** Reads at most `size` bytes. Returns whether this was the last step. */
  step(size: number): boolean {
    const end = Math.min(this.bytes.length, this.at + size)
    this.read(end)
    if (this.problem === undefined && end < this.bytes.length) return false
    const { state: last } = this
    const number = last === state.zero || last === state.digits || last === state.fraction || last === state.exponent
    if (number && this.depth === this.base) this.rows.close(end)
    if (this.depth > 0 || (last !== state.after && !number)) this.problem ??= "invalid"
    return true
  }

  /** One loop over local variables: it takes a third of the time of a method for each state. */
  private read(end: number) {
    const { bytes, isObject } = this
    let { at, depth, state: now } = this
    while (at < end) {
      const byte = bytes[at] ?? 0
      if (now <= state.after && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
        at++
        continue
      }
      /** A value that is not an array or object has ended before this byte, or with it. */
      let ended = false
      switch (now) {
        case state.text: {
          let rest = at
          while (rest < end && mustEscape[bytes[rest] ?? 0] === 0) rest++
          at = rest + 1
          if (rest === end) at = end
          else if (bytes[rest] === backslash) {
            now = state.escape
            this.escaped = true
          } else if (bytes[rest] !== quote) now = state.invalid
          else if (this.naming) {
            if (depth === this.base + 1) this.rows.name(this.textFrom, rest, this.escaped)
            now = state.colon
          } else ended = true
          break
        }
        case state.colon:
          now = byte === colon ? state.value : state.invalid
          at++
          break
        case state.after:
          if (depth === 0) now = state.invalid
          else if (byte === comma) now = isObject[depth] ? state.name : state.value
          else if (byte === (isObject[depth] ? closeBrace : closeBracket)) {
            depth--
            ended = true
          } else now = state.invalid
          at++
          break
        case state.member:
        case state.name:
          at++
          if (byte === quote) {
            now = state.text
            this.naming = true
            this.textFrom = at
            this.escaped = false
          } else if (byte === closeBrace && now === state.member) {
            depth--
            ended = true
          } else now = state.invalid
          break
        case state.element:
        case state.value:
          if (byte === closeBracket && now === state.element) {
            depth--
            ended = true
            at++
            break
          }
          if (depth === this.base) this.begin(byte, at)
          at++
          if (byte === openBrace || byte === openBracket) {
            isObject[++depth] = byte === openBrace
            now = byte === openBrace ? state.member : state.element
            if (depth > maxJsonDepth) {
              this.problem = "deep"
              now = state.invalid
            }
          } else {
            now = afterFirst(byte)
            this.naming = false
            this.literal = literals[byte] ?? ""
            this.found = 1
          }
          break
        case state.digits:
        case state.fraction:
        case state.exponent:
        case state.zero:
          if (isDigit(byte) && now !== state.zero) at++
          else if (byte === dot && now <= state.digits) {
            now = state.point
            at++
          } else if (exponents[byte] === 1 && now <= state.fraction) {
            now = state.e
            at++
          } else ended = true
          break
        case state.literal:
          if (byte !== this.literal.charCodeAt(this.found++)) now = state.invalid
          else ended = this.found === this.literal.length
          at++
          break
        case state.minus:
          now = byte === zero ? state.zero : isDigit(byte) ? state.digits : state.invalid
          at++
          break
        case state.point:
          now = isDigit(byte) ? state.fraction : state.invalid
          at++
          break
        case state.e:
          now = isDigit(byte) ? state.exponent : byte === plus || byte === dash ? state.sign : state.invalid
          at++
          break
        case state.sign:
          now = isDigit(byte) ? state.exponent : state.invalid
          at++
          break
        case state.escape:
          now = byte === letterU ? state.hex : escapes[byte] === 1 ? state.text : state.invalid
          this.found = 0
          at++
          break
        case state.hex:
          if (hexDigits[byte] === 0) now = state.invalid
          else if (++this.found === 4) now = state.text
          at++
          break
        default:
          this.problem ??= "invalid"
          at = end
      }
      if (ended) {
        now = state.after
        if (depth === this.base) this.rows.close(at)
      }
    }
    if (now === state.invalid) this.problem ??= "invalid"
    this.at = at
    this.depth = depth
    this.state = now
  }

  /** The first byte of the text's value, or of an element if that is an array. */
  private begin(byte: number, at: number) {
    if (this.base === 0 && byte === openBracket) {
      this.form = "array"
      this.base = 1
      return
    }
    if (this.base === 0 && byte === openBrace) this.form = "object"
    this.rows.open(at, byte === openBrace)
  }
}
