import { type GridColumn, isMade } from "../grid/columns.ts"
import { written } from "../grid/checks.ts"
import type { CellChange } from "../rows/edits.ts"
import { isFresh, type Row } from "../rows/identity.ts"

const isText = (type: string) => /^(?:text|character|citext|name)/.test(type)

const wrong = (row: Row, column: string, text: string, problem: string): CellChange => ({
  row,
  column,
  wrong: { text, problem }
})

/** What an empty cell of a sheet means, and the Delete key: NULL, an empty text, or the default of a new row. */
const emptied = (row: Row, { name, nullable, type }: GridColumn): CellChange => {
  if (isFresh(row)) return { row, column: name, value: undefined }
  if (nullable) return { row, column: name, value: null }
  return isText(type)
    ? { row, column: name, value: "" }
    : wrong(row, name, "", `${name} does not accept NULL: write a value`)
}

/** A text for a cell, or NULL, checked as the type of its column. Undefined: only the database makes its value. */
export const cellChange = (row: Row, column: GridColumn, given: string | null): CellChange | undefined => {
  const { name, type, values } = column
  if (isMade(column)) return undefined
  if (given === null && column.nullable) return { row, column: name, value: null }
  if (given === null || given === "") return emptied(row, column)
  if (values !== undefined && type !== "boolean" && !values.includes(given))
    return wrong(row, name, given, `Not one of ${values.join(", ")}`)
  const result = written(given, column, row[name])
  if ("problem" in result) return wrong(row, name, given, result.problem)
  return { row, column: name, value: type === "boolean" ? /^\s*(?:t|y|on|1)/i.test(given) : result.value }
}
