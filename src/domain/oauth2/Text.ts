import { isJsonObject } from "../text/JsonObject.ts"
import { isPlainText } from "../text/StorableText.ts"

/** Maximum depth of metadata. */
const maxDepth = 64

/** Maximum length of an id, subject or token that is sent in a URL, in characters. */
const maxId = 2_048

/** Maximum length of a challenge, which contains the whole login and its client: 1–2 KB, more for large clients. */
const maxChallenge = 32_768

/**
 * Whether the server can have an object of this name; otherwise no request is made. NUL and unpaired surrogates would
 * end in a status 500 there, and other control characters are in no name.
 */
export const isId = (text: string) => text !== "" && text.length <= maxId && isPlainText(text)
export const isChallenge = (text: string) => text !== "" && text.length <= maxChallenge && isPlainText(text)
/** Like `isId`, for a segment of a path, where `.` and `..` have a meaning. */
export const isPathId = (text: string) => isId(text) && text !== "." && text !== ".."

/** User-supplied text, made safe for the query of a redirect. */
export const oneLine = (text: string) =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, 1_000)

/** Whether the server can store all texts in parsed JSON. */
export const isStorableJson = (value: unknown, depth = 0): boolean => {
  if (depth > maxDepth) return false
  if (typeof value === "string") return isStorableText(value)
  if (Array.isArray(value)) return value.every((one) => isStorableJson(one, depth + 1))
  if (!isJsonObject(value)) return true
  return Object.entries(value).every(([name, one]) => isStorableText(name) && isStorableJson(one, depth + 1))
}

const isStorableText = (text: string) => text.isWellFormed() && !text.includes("\0")
