import { Schema } from "effect"

/** Each character is one that PostgreSQL can store. */
export const isStorable = Schema.makeFilter(
  (text: string) =>
    (text.isWellFormed() && !text.includes("\0")) || "Expected text without NUL and half surrogate pairs"
)
