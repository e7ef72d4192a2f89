import { open } from "../../wire/request.ts"
import { headersOf, type Source, urlOf } from "../rows/source.ts"
import type { Row } from "../rows/identity.ts"
import { nameText, type Part, partsBehind } from "../rows/keyset.ts"
import { CsvReader, type CsvRecord } from "./CsvReader.ts"

/** A response in records, without the names of its columns. */
const recordsOf = async function* (body: ReadableStream<Uint8Array<ArrayBuffer>> | null) {
  const reader = new CsvReader(",")
  let head = true
  const rest = (records: ReadonlyArray<CsvRecord>) => {
    if (!head || records.length === 0) return records
    head = false
    return records.slice(1)
  }
  const texts = body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let next = await texts?.read(); next !== undefined && !next.done; next = await texts?.read())
    yield rest(reader.read(next.value))
  yield rest(reader.read("", true))
}

/** What is read, the pages that the service gives at most: with the values of the order behind the columns. */
const selectOf = ({ order }: Source, columns: ReadonlyArray<string>) =>
  [...columns.map(nameText), ...order.map(({ column }, at) => `svc_order_${at}:${nameText(column)}`)].join(",")

/** The values of the order in a row. Without quotes, an empty cell is NULL. */
const anchorOf = ({ order }: Source, { cells }: CsvRecord): Row => {
  const own = cells.slice(cells.length - order.length)
  return Object.fromEntries(
    order.map(({ column }, at) => [column, own[at]?.text === "" && !own[at].quoted ? null : own[at]?.text])
  )
}

/**
 * The records of all rows, for a caller who is given `SVC_DB_MAX_ROWS` at a time: each page is read from behind the last
 * row of the one before, so that rows that are inserted or deleted meanwhile move none. Without a key, by offset.
 */
export const csvPages = async function* (
  source: Source,
  columns: ReadonlyArray<string>,
  signal: AbortSignal
): AsyncGenerator<ReadonlyArray<CsvRecord>> {
  const select = selectOf(source, columns)
  const headers = { accept: "text/csv", ...headersOf(source) }
  let parts: ReadonlyArray<Part> = [[]]
  for (let read = 0; ;) {
    const [part, ...others] = parts
    if (part === undefined) return
    const offset = source.total ? 0 : read
    const { body, headers: answered } = await open(urlOf(source, { select, part, offset }), { headers, signal })
    let last: CsvRecord | undefined
    for await (const records of recordsOf(body)) {
      last = records.at(-1) ?? last
      read += records.length
      yield records.map(({ cells, end, line }) => ({ cells: cells.slice(0, columns.length), end, line }))
    }
    const cut = answered.has("x-max-rows") && last !== undefined
    if (!cut) parts = others
    else if (source.total) parts = partsBehind(source.order, anchorOf(source, last as CsvRecord), source.nullable)
  }
}
