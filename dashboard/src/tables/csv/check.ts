import { type GridColumn, isJson } from "../grid/columns.ts"
import type { CsvCell } from "./CsvReader.ts"

const whole = /^\s*[-+]?(?:\d[\d_]*|0[xob][\da-f_]+)\s*$/i
const number = /^\s*[-+]?(?:(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?|infinity|inf|nan|0[xob][\da-f_]+)\s*$/i
const boolean = /^\s*(?:t(?:r(?:ue?)?)?|y(?:es?)?|on|1|f(?:a(?:l(?:se?)?)?)?|no?|off?|0)\s*$/i
const uuid = /^\{?[\da-f]{4}(?:-?[\da-f]{4}){7}\}?$/i

const isValidJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const fits = (text: string, { type, values }: GridColumn): boolean => {
  if (type === "boolean") return boolean.test(text)
  if (values !== undefined) return values.includes(text)
  if (/^(?:smallint|integer|bigint)$/.test(type)) return whole.test(text)
  if (/^(?:numeric|real|double precision)/.test(type)) return number.test(text)
  if (type === "uuid") return uuid.test(text)
  return isJson(type) ? isValidJson(text) : true
}

/** Why PostgreSQL will refuse a cell, as far as that is certain without asking it. */
export const cellProblem = ({ quoted, text }: CsvCell, column: GridColumn, nullText: string): string | undefined => {
  if (!quoted && text === nullText) return column.nullable ? undefined : `${column.name} does not accept NULL`
  return fits(text, column) ? undefined : `Not a valid ${column.type}`
}
