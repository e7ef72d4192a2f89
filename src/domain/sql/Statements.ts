import { Effect } from "effect"
import { type ErrorCode } from "../codes/ErrorCode.ts"
import { InvalidRequest } from "../errors.ts"

/** One statement of a script: its text from the first word on, and that word's offset in the script (UTF-16 units). */
export interface SqlPiece {
  readonly text: string
  readonly offset: number
  /** Upper case first word, opening parentheses skipped; "" if the statement begins with something else. */
  readonly keyword: string
  /** Upper case second word, or "". */
  readonly second: string
}

const newline = /[\n\r]/g
const commentEdge = /\/\*|\*\//g
const stringEnd = /['\\]/g
const space = /[ \t\n\r\f\v]*/y
/** Letters, digits, `_`, `$`, and all characters outside of ASCII, as in PostgreSQL's scanner. */
const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /[0-9][0-9A-Za-z_.]*/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

export const matchAt = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ""
}

const findFrom = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)?.index ?? -1
}

/** The position after `-- …`, which ends at the end of the line or of the text. */
export const skipLine = (text: string, at: number) => {
  const end = findFrom(newline, text, at)
  return end < 0 ? text.length : end
}

/** The position after a block comment, which may contain others; -1 if it is unterminated. */
export const skipBlock = (text: string, at: number) => {
  commentEdge.lastIndex = at
  let depth = 0
  for (let edge = commentEdge.exec(text); edge !== null; edge = commentEdge.exec(text)) {
    depth += edge[0] === "/*" ? 1 : -1
    if (depth === 0) return commentEdge.lastIndex
  }
  return -1
}

/** The position after the next `quote`. A doubled quote reads as two adjacent strings. */
export const skipQuoted = (text: string, at: number, quote: string) => {
  const end = text.indexOf(quote, at)
  return end < 0 ? text.length : end + 1
}

/** The position after white space and `--` comments. */
const skipGap = (text: string, at: number): number => {
  let end = at + matchAt(space, text, at).length
  while (text.startsWith("--", end)) {
    end = skipLine(text, end)
    end += matchAt(space, text, end).length
  }
  return end
}

/**
 * The position after E'…', in which a backslash escapes the next character. Parts may be separated by white space with a
 * newline, comments included.
 */
export const skipEscaped = (text: string, at: number): number => {
  let here = at
  for (;;) {
    const end = findFrom(stringEnd, text, here)
    if (end < 0) return text.length
    here = end + 1
    if (text[end] === "\\") {
      here++
      continue
    }
    const gap = skipGap(text, here)
    if (text[here] === "'") here++
    else if (text[gap] === "'" && /[\n\r]/.test(text.slice(here, gap))) here = gap + 1
    else return here
  }
}

export const skipDollar = (text: string, at: number, tag: string) => {
  const end = text.indexOf(tag, at + tag.length)
  return end < 0 ? text.length : end + tag.length
}

/** Counts BEGIN … END in the body of CREATE FUNCTION or PROCEDURE, where `;` does not end the statement. */
class Body {
  private readonly head: Array<string> = []
  depth = 0

  word(upper: string) {
    if (this.head.length < 4) this.head.push(upper)
    if (!this.creates()) return
    if (upper === "BEGIN") this.depth++
    else if (upper === "CASE" && this.depth > 0) this.depth++
    else if (upper === "END" && this.depth > 0) this.depth--
  }

  private creates() {
    const [first, second, third, fourth] = this.head
    if (first !== "CREATE") return false
    const what = second === "OR" && third === "REPLACE" ? fourth : second
    return what === "FUNCTION" || what === "PROCEDURE"
  }
}

/**
 * The statements of a script, split at `;` as PostgreSQL would (`standard_conforming_strings` on), without those of only
 * white space and comments. Never fails: an unterminated string or comment extends to the end of the text, which
 * PostgreSQL then reports. Linear in the length of the text.
 */
export const statementsIn = (text: string): ReadonlyArray<SqlPiece> => {
  const pieces: Array<SqlPiece> = []
  let at = 0
  let start = -1
  let parens = 0
  let body = new Body()
  let words: Array<string> = []
  /** False once anything but words was read: `keyword` must be the statement's first token. */
  let plain = true

  const finish = (end: number) => {
    if (start >= 0) {
      const [keyword = "", second = ""] = words
      pieces.push({ text: text.slice(start, end).trimEnd(), offset: start, keyword, second })
    }
    start = -1
    parens = 0
    body = new Body()
    words = []
    plain = true
  }

  while (at < text.length) {
    const code = text.charCodeAt(at)
    const next = text.charCodeAt(at + 1)
    if (code === 32 || (code >= 9 && code <= 13)) {
      at++
      continue
    }
    if (code === 45 && next === 45) {
      at = skipLine(text, at)
      continue
    }
    if (code === 47 && next === 42) {
      const end = skipBlock(text, at)
      // Unterminated: the rest counts as a statement, for which PostgreSQL reports the error.
      if (end < 0 && start < 0) start = at
      at = end < 0 ? text.length : end
      continue
    }
    if (code === 59 && parens === 0 && body.depth === 0) {
      finish(at)
      at++
      continue
    }
    if (start < 0) start = at
    const name = matchAt(word, text, at)
    if (name !== "") {
      at += name.length
      const upper = name.toUpperCase()
      if (upper === "E" && text[at] === "'") at = skipEscaped(text, at + 1)
      else {
        if (plain && words.length < 2) words.push(upper)
        if (parens === 0) body.word(upper)
        continue
      }
    } else if (code === 39 || code === 34) at = skipQuoted(text, at + 1, text.charAt(at))
    else if (code === 36) {
      const tag = matchAt(dollarTag, text, at)
      at = tag === "" ? at + 1 : skipDollar(text, at, tag)
    } else if (code >= 48 && code <= 57) at += matchAt(number, text, at).length
    else {
      at++
      if (code === 40) {
        parens++
        if (words.length === 0) continue
      } else if (code === 41 && parens > 0) parens--
    }
    plain = false
  }
  finish(text.length)
  return pieces
}

/** Upper case first word of the first statement; "" if there is none. */
export const leadingKeyword = (text: string): string => statementsIn(text)[0]?.keyword ?? ""

const transactionControl = new Set([
  "BEGIN",
  "START",
  "COMMIT",
  "END",
  "ROLLBACK",
  "ABORT",
  "SAVEPOINT",
  "RELEASE",
  "PREPARE TRANSACTION"
])

const refusal = (piece: SqlPiece): string | undefined => {
  if (transactionControl.has(piece.keyword) || transactionControl.has(`${piece.keyword} ${piece.second}`)) {
    return `${piece.keyword} is not allowed: each request has its own transaction; use /v1/sql/transaction to run several statements in one`
  }
  if (piece.keyword === "COPY")
    return "COPY is not allowed: POST the rows as text/csv to /v1/db/<table>/import, or use INSERT … SELECT"
  if (piece.keyword === "LISTEN" || piece.keyword === "UNLISTEN") {
    return `${piece.keyword} is not allowed: the session ends with the request; use a realtime subscription instead`
  }
  return undefined
}

/** Accepts the text of a single allowed statement, with or without trailing semicolons. Gives the statement. */
export const checkSingle = (text: string): Effect.Effect<SqlPiece, InvalidRequest> => {
  if (text.includes("\0") || !text.isWellFormed()) {
    return fail(
      "SQL_INVALID_TEXT",
      "The SQL text contains a character that PostgreSQL cannot store (NUL or an unpaired surrogate)"
    )
  }
  const pieces = statementsIn(text)
  const [piece] = pieces
  if (piece === undefined) return fail("SQL_EMPTY", "The SQL text contains no statement")
  if (pieces.length > 1) {
    return fail(
      "SQL_MULTIPLE_STATEMENTS",
      `The SQL text must be one statement, but contains ${pieces.length}; use /v1/sql/transaction to run several`
    )
  }
  const refused = refusal(piece)
  return refused === undefined ? Effect.succeed(piece) : fail("SQL_NOT_ALLOWED", refused)
}

const fail = (code: ErrorCode, error: string) => Effect.fail(new InvalidRequest({ error, code }))
