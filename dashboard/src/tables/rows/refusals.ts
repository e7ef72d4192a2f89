import type { Table } from "../../catalogue/queries.ts"
import { ApiError } from "../../wire/ApiError.ts"
import { call } from "../../wire/call.ts"
import type { Edits, RowEdit } from "./edits.ts"
import { isFresh, rowId } from "./identity.ts"
import { probeOf, rowsOf } from "./statements.ts"

/** A cell, or a row as a whole, that PostgreSQL has refused. */
export interface Refused {
  readonly row: string
  readonly column: string | undefined
}

interface CellEdit {
  readonly edit: RowEdit
  readonly column: string
  readonly value: unknown
}

/** What a transaction takes. */
const most = 20

const only = <A>(all: ReadonlyArray<A>): A | undefined => (all.length === 1 ? all[0] : undefined)

/** By what the message names: the column, the key, or the value itself. */
const namedIn = (message: string, cells: ReadonlyArray<CellEdit>) => {
  const [, key, value] = /Key \((.+?)\)=\((.*?)\)/.exec(message) ?? []
  const column = key ?? /column "(.+?)"/.exec(message)?.[1]
  const inColumn = cells.filter((cell) => cell.column === column)
  const quoted = /: "(.*)"$/s.exec(message.split("\n")[0] ?? "")?.[1]
  return (
    only(value === undefined ? inColumn : inColumn.filter((cell) => String(cell.value) === value)) ??
    only(inColumn) ??
    only(cells.filter((cell) => quoted !== undefined && String(cell.value) === quoted))
  )
}

/** By reading each value as its type, in transactions that write nothing: no trigger runs again. */
const read = async (table: Table, cells: ReadonlyArray<CellEdit>): Promise<CellEdit | undefined> => {
  for (let from = 0; from < cells.length; from += most) {
    const part = cells.slice(from, from + most)
    try {
      const statements = part.map(({ column, value }) => probeOf(table, column, value))
      await call("POST /v1/sql/transaction", { payload: { statements, read_only: true } })
    } catch (error) {
      const at = error instanceof ApiError ? error.body.statement_index : undefined
      return at === undefined ? undefined : part[at]
    }
  }
  return undefined
}

/** The cell or row because of which nothing was saved, and the error with its name. */
export const refusedBy = async (
  error: ApiError,
  table: Table,
  edits: Edits
): Promise<{ readonly refused: Refused; readonly error: ApiError } | undefined> => {
  const { body, status } = error
  if (body.statement_index === undefined) return undefined
  const rows = rowsOf(edits, body.statement_index)
  const cells = rows.flatMap((edit) =>
    Object.entries(edit.values).map(([column, value]): CellEdit => ({ edit, column, value }))
  )
  const details = typeof body.details === "string" ? body.details : JSON.stringify(body.details)
  const cell = only(cells) ?? namedIn(`${body.error}\n${details}`, cells) ?? (await read(table, cells))
  const row = cell?.edit ?? only(rows)
  if (row === undefined) return undefined
  const id = rowId(table, row.row)
  const where = `${isFresh(row.row) ? "New row" : `Row ${id}`}${cell === undefined ? "" : `, column ${cell.column}`}`
  return {
    refused: { row: id, column: cell?.column },
    error: new ApiError(status, { ...body, error: `${where}: ${body.error}` })
  }
}
