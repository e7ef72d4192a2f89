import type { Table } from "../../catalogue/queries.ts"

export type Row = Readonly<Record<string, unknown>>

/** The columns by which a row is found again. */
type Identified = Pick<Table, "primary_key" | "type">

/**
 * Where PostgreSQL stores the row, for tables without a primary key. Each change moves the row, and another one may get
 * its place: what is changed by it must have all the values that were read.
 */
export const place = "ctid"

/** None: the rows of a view, and those of a table without a key that has its rows in other tables. */
export const keyOf = (table: Identified | undefined): ReadonlyArray<string> => {
  if (table === undefined || table.primary_key.length > 0) return table?.primary_key ?? []
  return table.type === "table" ? [place] : []
}

export const isPlaced = (table: Identified | undefined) => keyOf(table)[0] === place

/** Rows that are not saved yet, with their numbers. */
const fresh = new WeakMap<Row, number>()
let made = 0

/** A new row, whose columns have their defaults. */
export const freshRow = (): Row => {
  const row = {}
  fresh.set(row, ++made)
  return row
}
export const isFresh = (row: Row) => fresh.has(row)

export const rowId = (table: Identified, row: Row): string => {
  const number = fresh.get(row)
  return number === undefined ? JSON.stringify(keyOf(table).map((key) => row[key] ?? null)) : `new ${number}`
}

/** The field of a row that names the values of which only the beginning was read. */
const cutField = "$cut"
/** Characters of a value that are read. */
export const maxCell = 400

const cutIn = (row: Row): ReadonlyArray<string> => Object.keys((row[cutField] as object | null | undefined) ?? {})

export const isWhole = (row: Row) => cutIn(row).length === 0
export const isCut = (row: Row, column: string) => cutIn(row).includes(column)

/** The preference for cut values, unless the rows have a column with the name of `cutField`. */
export const cutPreference = (columns: ReadonlyArray<{ readonly name: string }>): string | undefined =>
  columns.some(({ name }) => name === cutField) ? undefined : `max-cell=${maxCell}`

/** Whether a row that was read again is the same, as far as its values were read before. */
export const isSame = (before: Row, now: Row) =>
  Object.keys(before).every(
    (name) => name === cutField || isCut(before, name) || JSON.stringify(before[name]) === JSON.stringify(now[name])
  )
