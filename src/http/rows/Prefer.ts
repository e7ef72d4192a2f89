import { Result } from "effect"
import { listed } from "../../domain/text/Shorten.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import { noPreferences, type Preferences } from "../../domain/rows/Preferences.ts"

type Known = Pick<Preferences, "resolution" | "missing" | "return" | "count" | "tx" | "handling" | "consistency">

/** The preferences with a fixed set of values. */
const known: { readonly [Name in keyof Known]: ReadonlyArray<NonNullable<Known[Name]>> } = {
  resolution: ["merge-duplicates", "ignore-duplicates"],
  missing: ["default", "null"],
  return: ["representation", "minimal", "headers-only"],
  count: ["exact", "planned", "estimated"],
  tx: ["commit", "rollback"],
  handling: ["strict", "lenient"],
  consistency: ["strong", "session", "eventual"]
}

const isKnown = (name: string): name is keyof Known => Object.hasOwn(known, name)

/** RFC 7240 2: a name in any case, an optional value, which may be quoted, and optional parameters, which are ignored. */
const preference = /^([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*("[^"]*"|[^\s;"]*))?\s*(?:;.*)?$/s
const wholeNumber = /^-?\d{1,18}$/
const characters = /^[1-9]\d{0,5}$/

/**
 * Parses a `Prefer` header, or several joined by commas. The first valid preference of a kind applies; unknown ones are
 * ignored, or rejected with `handling=strict` (PGRST122).
 */
export const parsePreferences = (header: string | undefined): Result.Result<Preferences, InvalidRequest> => {
  if (header === undefined) return Result.succeed(noPreferences)
  const found: { -readonly [Name in keyof Preferences]: Preferences[Name] } = { ...noPreferences }
  const unknown: Array<string> = []
  for (const part of header.split(",")) {
    const text = part.trim()
    if (text === "") continue
    const [, rawName = "", rawValue = ""] = preference.exec(text) ?? []
    const name = rawName.toLowerCase()
    const value = rawValue.startsWith('"') ? rawValue.slice(1, -1) : rawValue
    if (name === "timezone") found.timezone ??= value
    else if (name === "max-affected") {
      if (wholeNumber.test(value)) found.maxAffected ??= Number(value)
    } else if (name === "max-cell" && characters.test(value)) {
      found.maxCell ??= Number(value)
    } else if (isKnown(name) && (known[name] as ReadonlyArray<string>).includes(value)) {
      if (found[name] === undefined) Object.assign(found, { [name]: value })
    } else unknown.push(text)
  }
  if (found.handling !== "strict" || unknown.length === 0) return Result.succeed(found)
  return Result.fail(
    new InvalidRequest({
      error: "Invalid preferences given with handling=strict",
      code: "PGRST122",
      details: `Invalid preferences: ${listed(unknown)}`
    })
  )
}

/** The kind of request, which determines the preferences that apply. */
export type RowOperation = "read" | "insert" | "upsert" | "update" | "remove" | "call"

/** `Preference-Applied`, in a fixed order; undefined if no preference applied. */
export const preferenceApplied = (preferences: Preferences, operation: RowOperation): string | undefined => {
  if (preferences === noPreferences) return undefined
  const { consistency, count, handling, maxAffected, maxCell, missing, resolution, timezone, tx } = preferences
  const writes = operation !== "read" && operation !== "call"
  const counted = operation === "update" || operation === "remove" || operation === "call"
  const all: ReadonlyArray<readonly [name: string, value: string | number | undefined]> = [
    ["resolution", operation === "insert" ? resolution : undefined],
    ["missing", operation === "insert" || operation === "update" ? missing : undefined],
    ["return", writes ? preferences.return : undefined],
    ["count", count],
    ["tx", tx],
    ["handling", handling],
    ["timezone", timezone],
    ["consistency", operation === "read" ? consistency : undefined],
    ["max-affected", counted && handling === "strict" ? maxAffected : undefined],
    ["max-cell", operation === "read" ? maxCell : undefined]
  ]
  const said = all.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return said.length === 0 ? undefined : said.join(", ")
}

/** Whether the client asks for a response before the work is done. */
export const prefersAsync = (header: string | undefined) => /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(header ?? "")
