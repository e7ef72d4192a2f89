import { InvalidRequest } from "../errors.ts"
import { utf8Length } from "../text/Utf8.ts"

/**
 * Characters of keys: those of ASCII that Supabase has, and beyond it letters, marks, digits, punctuation and symbols of any
 * script, with the joiners that some scripts need. No control or format characters, which would hide what a name is.
 */
const keyCharacters = /^(?:[\w/!\-.*'() &$@=;:+,?]|(?!\p{ASCII})[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\u200c\u200d])+$/u
/** Without the slash, as Supabase has them. */
const bucketCharacters = /^[\w!\-.*'() &$@=;:+,?]{1,100}$/
/** Bytes in UTF-8, which object stores count. */
const maxKey = 900

export const invalidBucket = new InvalidRequest({ error: "Bucket name invalid", code: "InvalidBucketName" })

export const isBucketName = (name: string): boolean => bucketCharacters.test(name) && name === name.trim()

/** Whether a text may be an object's name: a path without empty segments, `.` and `..`. */
export const isObjectName = (name: string): boolean =>
  utf8Length(name) <= maxKey &&
  keyCharacters.test(name) &&
  name.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..")

export const invalidKey = (name: string) =>
  new InvalidRequest({ error: `Invalid key: ${name.slice(0, 200)}`, code: "InvalidKey" })

/** Powers of 1000, as at Supabase. */
const units: Readonly<Record<string, number>> = { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }

/** Bytes of a limit, as a number or such as `20mb` or `1.5MB`; undefined if it is neither. */
export const bytesOf = (limit: number | string): number | undefined => {
  if (typeof limit === "number") return Number.isSafeInteger(limit) && limit >= 0 ? limit : undefined
  const [, digits, unit = ""] = /^(\d{1,12}(?:\.\d{1,12})?) ?([kmg]?b)?$/i.exec(limit.trim()) ?? []
  const bytes = Math.round(Number(digits) * (units[unit.toLowerCase()] ?? 1))
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Whether a media type is one of those, such as `image/*`, that a bucket accepts. */
export const acceptsType = (allowed: ReadonlyArray<string> | null, type: string): boolean => {
  if (allowed === null || allowed.length === 0) return true
  const media = (type.split(";", 1)[0] ?? "").trim().toLowerCase()
  return allowed.some((one) => {
    const pattern = one.trim().toLowerCase()
    return pattern === "*/*" || pattern === media || (pattern.endsWith("/*") && media.startsWith(pattern.slice(0, -1)))
  })
}
