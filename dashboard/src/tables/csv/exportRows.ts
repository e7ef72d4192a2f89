import { open } from "../../wire/request.ts"
import { headersOf, type Source, urlOf } from "../rows/source.ts"
import { nameText } from "../rows/keyset.ts"
import { csvPages } from "./csvPages.ts"
import { type CsvCell, cellText, CsvReader, type CsvRecord } from "./CsvReader.ts"

interface Exporting {
  readonly source: Source
  readonly columns: ReadonlyArray<string>
  /** Whether spreadsheet programs must not take cells for formulas. */
  readonly forSpreadsheets: boolean
  readonly signal: AbortSignal
  /** Bytes that have arrived. */
  readonly onProgress: (bytes: number) => void
}

/** Bytes of a part: the browser may keep each on disk. */
const partSize = 4 * 1024 * 1024

/** What spreadsheet programs run as a formula. Negative numbers are left as they are. */
const formula = /^[=+@\t\r]|^-(?![\d.]+(?:e[-+]?\d+)?$)/i
const harmless = (cell: CsvCell): CsvCell => (formula.test(cell.text) ? { ...cell, text: `'${cell.text}` } : cell)

const linesOf = (records: ReadonlyArray<Pick<CsvRecord, "cells">>, shown: (cell: CsvCell) => CsvCell) =>
  records.map(({ cells }) => `${cells.map((cell) => cellText(shown(cell))).join(",")}\n`).join("")

/** Makes formulas texts. */
const withoutFormulas = () => {
  const reader = new CsvReader(",")
  return new TransformStream<string, string>({
    transform: (text, controller) => controller.enqueue(linesOf(reader.read(text), harmless)),
    flush: (controller) => controller.enqueue(linesOf(reader.read("", true), harmless))
  })
}

/** A service key's rows come in one response without a limit. */
const streamed = async ({ columns, forSpreadsheets, signal, source }: Exporting) => {
  const select = columns.map(nameText).join(",")
  const headers = { accept: "text/csv", ...headersOf(source) }
  const { body } = await open(urlOf(source, { select }), { headers, signal })
  return forSpreadsheets ? body?.pipeThrough(new TextDecoderStream()).pipeThrough(withoutFormulas()) : body
}

/** Those of other callers come in pages. */
const paged = ({ columns, forSpreadsheets, signal, source }: Exporting) => {
  const shown = forSpreadsheets ? harmless : (cell: CsvCell) => cell
  const head = { cells: columns.map((text) => ({ text, quoted: false })) }
  const pages = csvPages(source, columns, signal)
  return new ReadableStream<string>({
    start: (controller) => controller.enqueue(linesOf([head], shown)),
    pull: async (controller) => {
      const { done, value } = await pages.next()
      if (done === true) controller.close()
      else controller.enqueue(linesOf(value, shown))
    }
  })
}

/** All rows of a view as CSV. They are never in memory as a whole; a failure on the way leaves no file. */
export const exportRows = async (given: Exporting): Promise<Blob> => {
  const { onProgress, source } = given
  const stream: ReadableStream<Uint8Array | string> | null | undefined =
    source.viewer.role === "service_role" ? await streamed(given) : paged(given)
  if (stream == null) return new Blob()
  const reader = stream.getReader()
  const parts: Array<Blob> = []
  let pieces: Array<Uint8Array<ArrayBuffer> | string> = []
  let size = 0
  let total = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (value !== undefined) {
      pieces.push(value as Uint8Array<ArrayBuffer> | string)
      size += value.length
      total += value.length
    }
    if (done || size >= partSize) {
      parts.push(new Blob(pieces))
      pieces = []
      size = 0
      onProgress(total)
    }
    if (done) return new Blob(parts, { type: "text/csv" })
  }
}
