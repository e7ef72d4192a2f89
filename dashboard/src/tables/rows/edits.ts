import type { Table } from "../../catalogue/queries.ts"
import { isCut, isFresh, isPlaced, type Row, rowId } from "./identity.ts"

/** A text that the column can't have. It is kept, and not saved. */
interface WrongText {
  readonly text: string
  readonly problem: string
}

/** What is to become of one row. */
export interface RowEdit {
  /** As it was read; one that `freshRow` has made is new. */
  readonly row: Row
  /** New values by column. */
  readonly values: Readonly<Record<string, unknown>>
  readonly wrong?: Readonly<Record<string, WrongText>>
  readonly deleted?: boolean
}

/** Unsaved changes by the row's key, so that they outlive filters, sorting and scrolling. */
export type Edits = ReadonlyMap<string, RowEdit>

/** Whether two values are written the same. */
export const isEqual = (one: unknown, other: unknown) =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null) ||
  (typeof one !== "object" && typeof other !== "object" && String(one) === String(other))

/** A new value, the default of a new row (undefined), or what can't be a value. */
export type CellChange = { readonly row: Row; readonly column: string } & (
  | { readonly value: unknown }
  | { readonly wrong: WrongText }
)

type Identified = Pick<Table, "primary_key" | "type">

const without = <A>(record: Readonly<Record<string, A>> | undefined, name: string): Readonly<Record<string, A>> => {
  const { [name]: _, ...others } = record ?? {}
  return others
}

export const isNone = ({ deleted, values, wrong }: RowEdit) =>
  deleted !== true && Object.keys(values).length === 0 && Object.keys(wrong ?? {}).length === 0

/** Stages values; one that equals what was read is no change. */
export const withEdits = (edits: Edits, table: Identified, changes: ReadonlyArray<CellChange>): Edits => {
  const next = new Map(edits)
  for (const change of changes) {
    const { column } = change
    const id = rowId(table, change.row)
    const before = next.get(id)
    if (before?.deleted === true) continue
    const row = before?.row ?? change.row
    const values = without(before?.values, column)
    const wrong = without(before?.wrong, column)
    const unchanged =
      "value" in change && (isFresh(row) ? change.value === undefined : isEqual(change.value, row[column]))
    const edit: RowEdit = {
      row,
      values: unchanged || !("value" in change) ? values : { ...values, [column]: change.value },
      wrong: "wrong" in change ? { ...wrong, [column]: change.wrong } : wrong
    }
    if (isNone(edit)) next.delete(id)
    else next.set(id, edit)
  }
  return next
}

export const withEdit = (edits: Edits, table: Identified, change: CellChange): Edits =>
  withEdits(edits, table, [change])

/** Stages the deletion of rows, or keeps them if all are to be deleted. A new row goes at once. */
export const withDeleted = (edits: Edits, table: Identified, rows: ReadonlyArray<Row>): Edits => {
  const next = new Map(edits)
  const all = rows.every((row) => edits.get(rowId(table, row))?.deleted === true)
  for (const row of rows) {
    const id = rowId(table, row)
    if (isFresh(row) || all) next.delete(id)
    else next.set(id, { row: edits.get(id)?.row ?? row, values: {}, deleted: true })
  }
  return next
}

/** The rows that are new, in their order. */
export const freshIn = (edits: Edits): ReadonlyArray<Row> =>
  Array.from(edits.values()).flatMap(({ row }) => (isFresh(row) ? [row] : []))

export const countWrong = (edits: Edits) =>
  Array.from(edits.values()).reduce((sum, { wrong }) => sum + Object.keys(wrong ?? {}).length, 0)

/** Cells, and rows that are deleted. */
export const countEdits = (edits: Edits) =>
  Array.from(edits.values()).reduce(
    (sum, { deleted, values }) => sum + (deleted === true ? 1 : Object.keys(values).length),
    countWrong(edits)
  )

const isWrong = ({ wrong }: RowEdit) => Object.keys(wrong ?? {}).length > 0

/** What can be saved. With a wrong cell, a new row waits, and so does one that is found by all of its values. */
export const savableOf = (edits: Edits, table: Identified): Edits =>
  new Map(
    Array.from(edits).filter(
      ([, edit]) =>
        !(isWrong(edit) && (isFresh(edit.row) || isPlaced(table))) &&
        (edit.deleted === true || Object.keys(edit.values).length > 0)
    )
  )

/** What is left when that is saved. */
export const remainingOf = (edits: Edits, table: Identified): Edits => {
  const saved = savableOf(edits, table)
  return new Map(
    Array.from(edits.values(), (edit) => {
      const row = saved.has(rowId(table, edit.row)) ? { ...edit.row, ...edit.values } : edit.row
      return { ...edit, row, values: row === edit.row ? edit.values : {} }
    })
      .filter(isWrong)
      .map((edit) => [rowId(table, edit.row), edit])
  )
}

/** The columns of a change that are not as they were read. `theirs`: the row as it is now; null: it is gone. */
export const conflictsOf = (
  { deleted, row, values }: RowEdit,
  theirs: Row | null | undefined
): ReadonlyArray<string> => {
  if (theirs === undefined || isFresh(row)) return []
  if (theirs === null) return deleted === true ? Object.keys(row).slice(0, 1) : Object.keys(values)
  const names = deleted === true ? Object.keys(theirs) : Object.keys(values)
  return names.filter((name) => !isCut(row, name) && !isEqual(theirs[name], row[name]))
}
