import { request } from "../../wire/request.ts"
import { parseRows } from "../../wire/exact.ts"
import type { Table } from "../../catalogue/queries.ts"
import type { RowEdit } from "../rows/edits.ts"
import { type Row, rowId } from "../rows/identity.ts"
import type { Condition } from "../rows/keyset.ts"
import { headersOf, type Source, urlOf } from "../rows/source.ts"

/** Rows of a request: their keys are in its address. */
const most = 40

/** Rows as they are stored now, by their keys, with their whole values. */
const readRows = async (source: Source, rows: ReadonlyArray<Row>, signal: AbortSignal): Promise<ReadonlyArray<Row>> => {
  const found: Array<Row> = []
  for (let from = 0; from < rows.length; from += most) {
    const all = rows.slice(from, from + most).map((row): Condition => ({
      tag: "and",
      all: source.key.map((column) => ({ tag: "compare", column, operator: "eq", value: row[column] }))
    }))
    const url = urlOf({ ...source, filters: [] }, { part: [{ tag: "or", all }], order: [], select: "*" })
    const { body } = await request<ReadonlyArray<Row>>(url, {
      signal,
      headers: headersOf(source),
      parse: (text) => parseRows(text, source.json)
    })
    found.push(...body)
  }
  return found
}

/** The present rows of changes that are not saved, by their ids; null: it is gone. */
export const readTheirs = async (
  source: Source,
  table: Table,
  touched: ReadonlyArray<readonly [id: string, edit: RowEdit]>,
  signal: AbortSignal
): Promise<ReadonlyMap<string, Row | null>> => {
  const rows = await readRows(
    source,
    touched.map(([, { row }]) => row),
    signal
  )
  const found = new Map<string, Row | null>(touched.map(([id]) => [id, null]))
  for (const row of rows) found.set(rowId(table, row), row)
  return found
}
