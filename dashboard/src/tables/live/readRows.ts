import { request } from "../../wire/request.ts"
import { parseRows } from "../../wire/exact.ts"
import type { Row } from "../rows/identity.ts"
import type { Condition } from "../rows/keyset.ts"
import { headersOf, type Source, urlOf } from "../rows/source.ts"

/** Rows of a request: their keys are in its address. */
const most = 40

/** Rows as they are stored now, by their keys, with their whole values. */
export const readRows = async (
  source: Source,
  rows: ReadonlyArray<Row>,
  signal: AbortSignal
): Promise<ReadonlyArray<Row>> => {
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
