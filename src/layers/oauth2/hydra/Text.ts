import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { isPlainText } from "../../../domain/text/StorableText.ts"

/** JSON deeper than this is nobody's metadata, and servers refuse it in ways of their own. */
const maxDepth = 64

/** The longest id, subject or token that is sent in a URL, in characters. */
const maxId = 2_048

/** Challenges hold all of a login and its client: 1–2 KB, and more with large clients. */
const maxChallenge = 32_768

/**
 * Whether the server can know something by this name at all; if not, it needn't be asked. NUL and half surrogates end in
 * a status 500 there; no other control character is in any name either.
 */
export const isId = (text: string) => text !== "" && text.length <= maxId && isPlainText(text)
export const isChallenge = (text: string) => text !== "" && text.length <= maxChallenge && isPlainText(text)
/** As a part of a path; `.` and `..` would be steps in it. */
export const isPathId = (text: string) => isId(text) && text !== "." && text !== ".."

/** What a person wrote, fit for the query of a redirect. */
export const oneLine = (text: string) =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, 1_000)

/** Whether all texts in parsed JSON are ones that the server can store. */
export const isStorableJson = (value: unknown, depth = 0): boolean => {
  if (depth > maxDepth) return false
  if (typeof value === "string") return isStorableText(value)
  if (Array.isArray(value)) return value.every((one) => isStorableJson(one, depth + 1))
  if (!isJsonObject(value)) return true
  return Object.entries(value).every(([name, one]) => isStorableText(name) && isStorableJson(one, depth + 1))
}

const isStorableText = (text: string) => text.isWellFormed() && !text.includes("\0")
