import { InvalidRequest } from "../../errors.ts"
import { shorten } from "../../text/Shorten.ts"
import { type RowCursor } from "./Cursor.ts"

/** The invalid part of the request. */
export type Part =
  | "select parameter"
  | "columns parameter"
  | "on_conflict parameter"
  | "order"
  | "filter"
  | "logic tree"
  | "tree path"
  | "logic path"
  | "limit"
  | "offset"

/** PGRST100 with the position in the text, in PostgREST's wording: `unexpected "x" expecting …`. */
export const parseError = (part: Part, cursor: RowCursor, shown = cursor.text) =>
  new InvalidRequest({
    error: `"failed to parse ${part} (${shorten(shown, 200)})" (${placeOf(cursor.text, cursor.failedAt)})`,
    code: "PGRST100",
    details: cursor.refusal ?? `unexpected ${unexpected(cursor)} expecting ${cursor.expected}`
  })

/** Lines and columns start at 1 and count characters; tab stops are 8 columns apart. */
const placeOf = (text: string, at: number) => {
  let line = 1
  let column = 1
  for (const char of text.slice(0, at)) {
    if (char === "\n") {
      line++
      column = 1
    } else if (char === "\t") column += 8 - ((column - 1) % 8)
    else column++
  }
  return `line ${line}, column ${column}`
}

const unexpected = (cursor: RowCursor) => {
  const char = cursor.unexpected ?? String.fromCodePoint(cursor.text.codePointAt(cursor.failedAt) ?? 0)
  return cursor.failedAt >= cursor.text.length || char === "" ? "end of input" : `"${escaped(char)}"`
}

const named: Record<string, string> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r" }
const escaped = (char: string) => named[char] ?? (/[ -~]/.test(char) ? char : `\\${char.codePointAt(0)}`)

/** The first character at which the text from `at` on differs from `word`; empty at the end of the text. */
export const mismatch = (text: string, at: number, word: string) => {
  let i = 0
  while (i < word.length && text[at + i] === word[i]) i++
  return String.fromCodePoint(text.codePointAt(at + i) ?? 0).replace("\0", "")
}
