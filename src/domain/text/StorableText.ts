import { Schema } from "effect"

/** Each character is one that PostgreSQL can store. */
export const isStorable = Schema.makeFilter(
  (text: string) =>
    (text.isWellFormed() && !text.includes("\0")) || "Expected text without NUL and half surrogate pairs"
)

/** Text for one line of a page, a header or a log: no control characters, no half surrogate pairs. */
export const isPlainText = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)

/** The same of a schema. */
export const isPlain = Schema.makeFilter((text: string) => isPlainText(text) || "Expected plain text")
