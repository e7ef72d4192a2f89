import { isJson } from "./columns.ts"
import { isTimestamp, shownMoment } from "./moments.ts"

/** A value as the text that is shown, and that is edited: what is shown can be typed. */
export const valueShown = (value: unknown, type: string): string => {
  if (value === null || value === undefined) return ""
  if (typeof value === "object" || isJson(type)) return JSON.stringify(value)
  return isTimestamp(type) ? shownMoment(String(value)) : String(value)
}

/** The same, for an editor: JSON has lines there. */
export const editText = (value: unknown, type: string): string =>
  isJson(type) && value !== null && value !== undefined ? JSON.stringify(value, null, 2) : valueShown(value, type)
