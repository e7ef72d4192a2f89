import { Schema } from "effect"

/** Whether PostgreSQL can store a text. */
export const isStorableText = (text: string) => text.isWellFormed() && !text.includes("\0")

/** Accepts text that PostgreSQL can store. */
export const isStorable = Schema.makeFilter(
  (text: string) => isStorableText(text) || "Expected text without NUL and half surrogate pairs"
)

/**
 * Accepts text of at most so many characters, which are code points here as in PostgreSQL and JSON Schema: `isMaxLength`
 * counts an emoji twice.
 */
export const isAtMost = (characters: number) =>
  Schema.makeFilter(
    (text: string) =>
      text.length <= characters || (text.length <= 2 * characters && Array.from(text).length <= characters),
    { expected: `at most ${characters} characters`, toJsonSchema: () => ({ maxLength: characters }) }
  )

/** Whether a text fits on one line of a page, header or log: no control characters or unpaired surrogates. */
export const isPlainText = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)

/** Accepts text for which `isPlainText` is true. */
export const isPlain = Schema.makeFilter((text: string) => isPlainText(text) || "Expected plain text")
