import { DatabaseError } from "../errors.ts"
import { builtinTypes, Oid, type SqlType } from "./Types.ts"

/** Maximum bytes of a result in PostgreSQL's text format, because results are kept in memory as a whole. */
export const maxResultSize = 64 * 1024 * 1024
/** Maximum characters of a result as JSON, in which column names are repeated in every row. */
const maxJson = 4 * maxResultSize

export const sqlResultTooLarge = () =>
  new DatabaseError({
    error: "The result exceeds the limit of 64 MiB per response",
    code: "RESULT_TOO_LARGE",
    status: 400,
    hint: "Select fewer rows or columns, or read the result in several requests"
  })

/** A result in PostgreSQL's text format: every value is text or null. The port's `RawResult`. */
interface PrintedResult {
  readonly command: string
  readonly rowCount: number | null
  readonly fields: ReadonlyArray<{ readonly name: string; readonly oid: number }>
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
  readonly truncated: boolean
}

/** Converts PostgreSQL's text of a value to JSON text. */
type Encode = (text: string) => string

const raw: Encode = (text) => text
const quoted: Encode = (text) => JSON.stringify(text)
/** Encodes types whose text needs no escaping in JSON. */
const plain: Encode = (text) => `"${text}"`
const bool: Encode = (text) => (text === "t" ? "true" : "false")

/** JSON has no numbers NaN and Infinity; all others that PostgreSQL prints are JSON numbers. */
const float: Encode = (text) => {
  const last = text.charCodeAt(text.length - 1)
  return last >= 48 && last <= 57 ? text : `"${text}"`
}

const printedTime = /^(\d{4,6})-(\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(:\d\d(?::\d\d)?)?( BC)?$/

/** ISO 8601 years have exactly four digits, or a sign and six; year 0 is 1 BC. */
const isoYear = (digits: string, beforeChrist: boolean) => {
  const year = beforeChrist ? 1 - Number(digits) : Number(digits)
  if (year >= 0 && year <= 9999) return String(year).padStart(4, "0")
  return `${year < 0 ? "-" : "+"}${String(Math.abs(year)).padStart(6, "0")}`
}

/** `2026-01-01 10:00:00+00` as `2026-01-01T10:00:00+00:00`; any other text (infinity) unchanged. */
const timestamptz: Encode = (text) => {
  // Fast path for a session in UTC and years of four digits.
  if (text.charCodeAt(10) === 32 && text.endsWith("+00")) return `"${text.slice(0, 10)}T${text.slice(11)}:00"`
  const match = printedTime.exec(text)
  if (match === null) return quoted(text)
  const [, year = "", day, time, hours, minutes = ":00", era] = match
  return `"${isoYear(year, era !== undefined)}-${day}T${time}${hours}${minutes}"`
}

const scalars = new Map<number, Encode>([
  [Oid.bool, bool],
  [Oid.int2, raw],
  [Oid.int4, raw],
  [Oid.oid, raw],
  [Oid.int8, plain],
  [Oid.numeric, plain],
  [Oid.float4, float],
  [Oid.float8, float],
  [Oid.json, raw],
  [Oid.jsonb, raw],
  [Oid.uuid, plain],
  [Oid.timestamptz, timestamptz]
])

const openBrace = 123
const closeBrace = 125
const doubleQuote = 34

/** The end of a quoted element that begins at `at`; PostgreSQL always terminates it. */
const closingQuote = (text: string, at: number) => {
  let end = at
  while (end < text.length && text.charCodeAt(end) !== doubleQuote) end += text[end] === "\\" ? 2 : 1
  return end
}

/** An array of any dimensions as JSON. Lower bounds (`[0:1]={…}`) are dropped: JSON has none. */
const arrayOf = (encode: Encode, delimiter: string): Encode => {
  const between = delimiter.charCodeAt(0)
  return (text) => {
    let at = text.startsWith("[") ? text.indexOf("=") + 1 : 0
    let out = ""
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code === openBrace) out += "["
      else if (code === closeBrace) out += "]"
      else if (code === between) out += ","
      else if (code === doubleQuote) {
        const end = closingQuote(text, at + 1)
        const element = text.slice(at + 1, end)
        out += encode(element.includes("\\") ? element.replaceAll(/\\([^])/g, "$1") : element)
        at = end
      } else {
        let end = at + 1
        while (end < text.length && text.charCodeAt(end) !== between && text.charCodeAt(end) !== closeBrace) end++
        const element = text.slice(at, end)
        out += element === "NULL" ? "null" : encode(element)
        at = end
        continue
      }
      at++
    }
    return out
  }
}

/** `types` has the types that `builtinTypes` lacks. */
const encoderOf = (oid: number, types: ReadonlyMap<number, SqlType>): Encode => {
  const scalar = scalars.get(oid)
  if (scalar !== undefined) return scalar
  const type = builtinTypes.get(oid) ?? types.get(oid)
  if (type?.base !== undefined) return encoderOf(type.base, types)
  const element = type?.element
  return element === undefined ? quoted : arrayOf(encoderOf(element.oid, types), element.delimiter)
}

/** Makes names unique as keys of one object: a repeated name becomes the next unused of `name_2`, `name_3` …. */
export const distinctNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const taken = new Set(names)
  const met = new Map<string, number>()
  return names.map((name) => {
    let number = met.get(name)
    if (number === undefined) {
      met.set(name, 1)
      return name
    }
    let free: string
    do free = `${name}_${++number}`
    while (taken.has(free))
    taken.add(free)
    met.set(name, number)
    return free
  })
}

/** The oids of a result's column types that are not known yet. */
export const unknownTypes = (
  fields: PrintedResult["fields"],
  types: ReadonlyMap<number, SqlType>
): ReadonlyArray<number> => {
  const unknown = new Set<number>()
  for (const { oid } of fields) if (!builtinTypes.has(oid) && !types.has(oid)) unknown.add(oid)
  return [...unknown]
}

/**
 * A result as the JSON text `{rows, rowCount, columns: [{name, type, oid}], command, truncated}`. Values go from
 * PostgreSQL's text to JSON without becoming JavaScript values in between, so that nothing is rounded.
 *
 * | type | JSON |
 * |---|---|
 * | boolean | true, false |
 * | smallint, integer, oid | number |
 * | real, double precision | number; "NaN", "Infinity", "-Infinity" |
 * | json, jsonb | unchanged |
 * | timestamp with time zone | ISO 8601 string |
 * | array | array of its elements by this table |
 * | any other, bigint and numeric too | the string that PostgreSQL prints |
 *
 * Undefined if the JSON text would be too large.
 */
export const resultJson = (result: PrintedResult, types: ReadonlyMap<number, SqlType>): string | undefined => {
  const names = distinctNames(result.fields.map((field) => field.name))
  const columns = result.fields.map((field, i) => {
    const type = (builtinTypes.get(field.oid) ?? types.get(field.oid))?.name ?? "???"
    return `{"name":${JSON.stringify(names[i])},"type":${JSON.stringify(type)},"oid":${field.oid}}`
  })
  const encoders = result.fields.map((field) => encoderOf(field.oid, types))
  const keys = names.map((name, i) => `${i === 0 ? "" : ","}${JSON.stringify(name)}:`)
  let rows = ""
  for (const row of result.rows) {
    rows += rows === "" ? "{" : ",{"
    for (let i = 0; i < encoders.length; i++) {
      const value = row[i]
      rows += keys[i]
      rows += value === null || value === undefined ? "null" : (encoders[i] as Encode)(value)
    }
    rows += "}"
    if (rows.length > maxJson) return undefined
  }
  return `{"rows":[${rows}],"rowCount":${result.rowCount},"columns":[${columns.join(",")}],"command":${JSON.stringify(result.command)},"truncated":${result.truncated}}`
}
