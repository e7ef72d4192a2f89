import { type LogRelation, type LogTuple } from "./LogMessage.ts"

/** The catalogue entry of a type that is not built in, or of an array. */
export interface LogType {
  readonly oid: number
  /** The type under a domain; 0 for others. */
  readonly base: number
  /** The type of an array's elements; 0 for others. */
  readonly element: number
  readonly delimiter: string
}

/** Types that have been read, by their oid. */
export type LogTypes = ReadonlyMap<number, LogType>

const booleans = new Set([16])
const numbers = new Set([20, 21, 23, 700, 701, 1700])
const times = new Set([1114, 1184])
const json = new Set([114, 3802])

/** Built-in types that need no look-up: they are printed as they are, or as above. */
const scalars = new Set([...booleans, ...numbers, ...times, ...json, 17, 25, 1042, 1043, 1082, 1083, 1266, 2950])

/** Whether the catalogue must be asked about a type before its values can be written as JSON. */
export const isUnknownType = (types: LogTypes, oid: number) => !scalars.has(oid) && !types.has(oid)

/** `2026-01-02 03:04:05+00` as in ISO 8601: `2026-01-02T03:04:05+00:00`. Sessions of the log have the time zone UTC. */
const isoTime = (text: string) => text.replace(" ", "T").replace("+00", "+00:00")

/**
 * A value as row_to_json() writes it, from the text that PostgreSQL prints for its type, so that payloads are the same
 * as those of triggers.
 */
const valueJson = (text: string | null, type: number, types: LogTypes): string => {
  if (text === null) return "null"
  if (booleans.has(type)) return text === "t" ? "true" : "false"
  // NaN and infinities are no numbers of JSON.
  if (numbers.has(type)) return /^-?\d/.test(text) ? text : JSON.stringify(text)
  if (json.has(type)) return text
  if (times.has(type)) return JSON.stringify(isoTime(text))
  const { base = 0, delimiter = ",", element = 0 } = types.get(type) ?? {}
  if (base !== 0) return valueJson(text, base, types)
  return element === 0 ? JSON.stringify(text) : arrayJson(text, element, delimiter, types)
}

/** An array's text, such as `{1,NULL,"a b"}` or `[0:1]={{1},{2}}`. */
const arrayJson = (text: string, element: number, delimiter: string, types: LogTypes): string => {
  const parts: Array<string> = []
  let at = text.startsWith("[") ? text.indexOf("=") + 1 : 0
  for (; at < text.length; at++) {
    const char = text[at]
    if (char === "{") parts.push("[")
    else if (char === "}") parts.push("]")
    else if (char === delimiter) parts.push(",")
    else if (char === '"') {
      const pieces: Array<string> = []
      let from = ++at
      for (; text[at] !== '"' && at < text.length; at++) {
        if (text[at] !== "\\") continue
        pieces.push(text.slice(from, at))
        from = ++at
      }
      pieces.push(text.slice(from, at))
      parts.push(valueJson(pieces.join(""), element, types))
    } else {
      const from = at
      while (at < text.length && text[at] !== "}" && text[at] !== delimiter) at++
      const value = text.slice(from, at--)
      parts.push(valueJson(value === "NULL" ? null : value, element, types))
    }
  }
  return parts.join("")
}

/**
 * A row as JSON. `former` has the large values that the statement did not change. Columns whose text is longer than
 * `longest` are left out.
 */
export const rowJson = (
  row: LogTuple | undefined,
  former: LogTuple | undefined,
  { columns }: LogRelation,
  types: LogTypes,
  longest = Infinity
): string => {
  if (row === undefined) return "null"
  const parts: Array<string> = []
  for (const [n, { name, type }] of columns.entries()) {
    const text = row[n] === undefined ? former?.[n] : row[n]
    if (text === undefined || (text !== null && text.length > longest)) continue
    parts.push(`${JSON.stringify(name)}:${valueJson(text, type, types)}`)
  }
  return `{${parts.join(",")}}`
}
