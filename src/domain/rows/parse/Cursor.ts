import { type Field, type JsonStep } from "./Query.ts"

/** Characters with a meaning in the grammar. */
export const mark = {
  tab: 9,
  space: 32,
  exclamation: 33,
  quote: 34,
  open: 40,
  close: 41,
  star: 42,
  comma: 44,
  dash: 45,
  dot: 46,
  colon: 58,
  greater: 62,
  backslash: 92,
  openBrace: 123,
  closeBrace: 125
} as const

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$ "
const bareAscii = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(wordCharacters.includes(String.fromCharCode(code)))
)
const bareOther = /[\p{L}\p{M}\p{N}]/u
/** Characters that end an unquoted key of a JSON path. */
const keyEnds = Uint8Array.from({ length: 128 }, (_, code) => Number("():.,>".includes(String.fromCharCode(code))))
const wholeNumber = /^-?\d{1,10}$/
const isInt4 = (number: number) => number === (number | 0)
const noSteps: ReadonlyArray<JsonStep> = []

/** The maximum nesting of embeds and of conditions. The JavaScript stack allows many times more. */
export const maxDepth = 64

/** The place of a condition's literal, and the parameter that replaces it. */
export interface LiteralPlace {
  readonly from: number
  readonly to: number
  readonly param: string
  /** `(a,b)`. */
  readonly list: boolean
}

/**
 * Reads a text of the row grammar once, from left to right. A reading method that meets invalid text records the error
 * with `fail` and returns undefined; its caller then returns undefined too.
 */
export class RowCursor {
  readonly text: string
  at = 0
  /** Whether the last name was quoted, in which case it is not a keyword. */
  quoted = false
  failedAt = 0
  /** The expectation at `failedAt`, in words. `refusal` is set instead if the text as a whole is wrong. */
  expected = ""
  /** The text found there; undefined: the character at `failedAt`. */
  unexpected: string | undefined = undefined
  refusal: string | undefined = undefined

  /** Collects the literals of conditions, if given. */
  readonly literals: Array<LiteralPlace> | undefined

  constructor(text: string, at = 0, literals?: Array<LiteralPlace>) {
    this.text = text
    this.at = at
    this.literals = literals
  }

  fail(expected: string, at = this.at, unexpected?: string): undefined {
    this.failedAt = at
    this.expected = expected
    this.unexpected = unexpected
    return undefined
  }

  refuse(refusal: string): undefined {
    this.failedAt = this.at
    this.refusal = refusal
    return undefined
  }

  get ended() {
    return this.at >= this.text.length
  }

  /** NaN at the end. */
  code(): number {
    return this.text.charCodeAt(this.at)
  }

  is(code: number): boolean {
    return this.text.charCodeAt(this.at) === code
  }

  spaces() {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code !== mark.space && code !== mark.tab) return
      this.at++
    }
  }

  skip(part: string): boolean {
    if (!this.text.startsWith(part, this.at)) return false
    this.at += part.length
    return true
  }

  /** The end of a run of letters, digits, `_`, `$`, spaces and, in names, inner `-`. */
  private bareEnd(dashes: boolean): number {
    const text = this.text
    let end = this.at
    for (;;) {
      const code = text.charCodeAt(end)
      if (code < 128) {
        const inner = dashes && code === mark.dash && end > this.at && text.charCodeAt(end + 1) !== mark.greater
        if (!inner && bareAscii[code] === 0) return end
        end++
      } else {
        const point = text.codePointAt(end)
        if (point === undefined || !bareOther.test(String.fromCodePoint(point))) return end
        end += point > 0xffff ? 2 : 1
      }
    }
  }

  /** Bare or quoted; never empty, and never with NUL, which PostgreSQL's names cannot contain. */
  name(expected = expectedField): string | undefined {
    this.spaces()
    const start = this.at
    this.quoted = this.is(mark.quote)
    if (this.quoted) {
      const name = this.quotation()
      if (name === undefined) return this.fail('"\\""', this.text.length)
      if (name === "" || name.includes("\0")) return this.fail(expected, start)
      return name
    }
    this.at = this.bareEnd(true)
    return this.at === start ? this.fail(expected) : this.text.slice(start, this.at).trimEnd()
  }

  /** The name of a type or language: like `name`, but without quotes and `-`. */
  word(): string | undefined {
    const start = this.at
    this.at = this.bareEnd(false)
    const word = this.text.slice(start, this.at).trim()
    return word === "" ? this.fail('letter, digit or "_"', start) : word
  }

  /** Text in double quotes; `\` escapes a quote and itself. Does not move if the closing quote is missing. */
  quotation(): string | undefined {
    const text = this.text
    let value = ""
    let from = this.at + 1
    for (let i = from; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code === mark.quote) {
        this.at = i + 1
        return value + text.slice(from, i)
      }
      if (code === mark.backslash) {
        value += text.slice(from, i)
        from = ++i
      }
    }
    return undefined
  }

  field(): Field | undefined {
    const name = this.name()
    const json = name === undefined ? undefined : this.json()
    return name === undefined || json === undefined ? undefined : { name, json }
  }

  /** Any number of `->key` and `->>key`. */
  json(): ReadonlyArray<JsonStep> | undefined {
    if (!this.is(mark.dash) || !this.skip("->")) return noSteps
    const steps: Array<JsonStep> = []
    do {
      const text = this.is(mark.greater)
      if (text) this.at++
      this.spaces()
      const start = this.at
      const quoted = this.is(mark.quote)
      const key = quoted ? this.quotation() : this.bareKey()
      if (key === undefined) return quoted ? this.fail('"\\""', this.text.length) : this.fail(jsonKey, start)
      // No array has an index beyond int4, and PostgreSQL has no operator for it; as a key it matches nothing.
      const index = !quoted && wholeNumber.test(key) && isInt4(Number(key))
      if (!index && !quoted && key.startsWith("-")) return this.fail(jsonKey, start)
      steps.push({ key, index, text })
      if (quoted) this.spaces()
    } while (this.skip("->"))
    return steps
  }

  private bareKey(): string | undefined {
    const start = this.at
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (Number.isNaN(code) || keyEnds[code] === 1) break
      if (code === mark.dash && this.text.charCodeAt(this.at + 1) === mark.greater) break
      this.at++
    }
    return this.text.slice(start, this.at).trim() || undefined
  }
}

export const expectedField = "field name (* or [a..z0..9_$])"
const jsonKey = "any non reserved character different from: .,>()"
/** Tokens that may always continue a name or JSON path. */
export const fieldRest = 'letter, digit, "-", "->>", "->"'
