import type { Column } from "../../catalogue/queries.ts"
import { parseFaithful } from "../../wire/exact.ts"
import { isJson } from "./columns.ts"

/** A value as the text that is edited. */
export const editText = (value: unknown): string =>
  value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value, null, 2)
      : String(value)

const isText = (type: string) => /^(?:text|character|citext|name)/.test(type)

/**
 * What was written, as a value of the column, or why it can't be one. PostgreSQL reads all other types from their text:
 * numbers keep their digits.
 */
export const written = (
  text: string,
  column: Pick<Column, "nullable" | "type">
): { readonly value: unknown } | { readonly problem: string } => {
  if (isJson(column.type) && text.trim() !== "") {
    try {
      return { value: parseFaithful(text) }
    } catch (error) {
      return { problem: `Not valid JSON: ${(error as Error).message}` }
    }
  }
  if (text !== "" || isText(column.type)) return { value: text }
  return column.nullable ? { value: null } : { problem: "This column does not accept NULL" }
}
