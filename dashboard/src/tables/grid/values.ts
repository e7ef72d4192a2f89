import type { Column } from "../../catalogue/queries.ts"
import { parseFaithful } from "../../wire/exact.ts"
import { problemOf } from "./checks.ts"
import { isJson } from "./columns.ts"
import { isMoment, isTimestamp, shownMoment, withZone } from "./moments.ts"

/** A value as the text that is shown, and that is edited: what is shown can be typed. */
export const valueShown = (value: unknown, type: string): string => {
  if (value === null || value === undefined) return ""
  if (typeof value === "object" || isJson(type)) return JSON.stringify(value)
  return isTimestamp(type) ? shownMoment(String(value)) : String(value)
}

/** The same, for an editor: JSON has lines there. */
export const editText = (value: unknown, type: string): string =>
  isJson(type) && value !== null && value !== undefined ? JSON.stringify(value, null, 2) : valueShown(value, type)

type Written = { readonly value: unknown } | { readonly problem: string }

const isText = (type: string) => /^(?:text|character|citext|name)/.test(type)

const parsed = (text: string): Written => {
  try {
    return { value: parseFaithful(text) }
  } catch (error) {
    return { problem: `Not valid JSON: ${(error as Error).message}` }
  }
}

/** The first element that can't be one of its type. */
const elementProblem = (type: string, value: unknown): string | undefined => {
  if (Array.isArray(value)) {
    for (const one of value) {
      const problem = elementProblem(type, one)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  if (value === null || isJson(type) || (typeof value === "object" && !JSON.stringify(value).match(/^[-\d]/)))
    return undefined
  const text = typeof value === "object" ? JSON.stringify(value) : String(value)
  const problem = problemOf(type, text)
  return problem === undefined ? undefined : `${text}: ${problem}`
}

/** JSON, as arrays are shown, or the array's text in PostgreSQL, which may have bounds: `{a,b}`, `[0:1]={a,b}`. */
const writtenArray = (text: string, type: string): Written => {
  const begin = text.trim()
  if (begin.startsWith("{") || /^\[[+-]?\d+:/.test(begin)) return { value: text }
  if (!begin.startsWith("[")) return { problem: 'Not an array: write ["a", "b"]' }
  const result = parsed(text)
  if ("problem" in result) return result
  const problem = elementProblem(type.replace(/(?:\[\])+$/, ""), result.value)
  return problem === undefined ? result : { problem }
}

/**
 * What was written, as a value of the column, or why it can't be one. PostgreSQL reads all other types from their text:
 * numbers keep their digits. `before`: the value that is edited, by which a composite type is known.
 */
export const written = (text: string, column: Pick<Column, "nullable" | "type">, before?: unknown): Written => {
  const { nullable, type } = column
  // An empty text is one of few types besides: where it was, it stays.
  if (text === "" && !isText(type) && before !== "")
    return nullable ? { value: null } : { problem: "This column does not accept NULL" }
  if (isJson(type))
    return text.trim() === ""
      ? nullable
        ? { value: null }
        : { problem: "This column does not accept NULL" }
      : parsed(text)
  if (type.endsWith("[]")) return writtenArray(text, type)
  // A composite type, or a domain over JSON or an array.
  if (typeof before === "object" && before !== null && /^\s*[[{]/.test(text)) return parsed(text)
  const problem = problemOf(type, text)
  return problem === undefined ? { value: isMoment(type) ? withZone(text) : text } : { problem }
}
