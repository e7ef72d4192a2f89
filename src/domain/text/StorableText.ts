import { Schema } from "effect"

/** Whether PostgreSQL can store a text. */
export const isStorableText = (text: string) => text.isWellFormed() && !text.includes("\0")

/** Accepts text that PostgreSQL can store. */
export const isStorable = Schema.makeFilter(
  (text: string) => isStorableText(text) || "Expected text without NUL and half surrogate pairs"
)

/** Whether a text fits on one line of a page, header or log: no control characters or unpaired surrogates. */
export const isPlainText = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)

/** Accepts text for which `isPlainText` is true. */
export const isPlain = Schema.makeFilter((text: string) => isPlainText(text) || "Expected plain text")
