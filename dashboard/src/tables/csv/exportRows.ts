import { open } from "../../wire/request.ts"
import { type CsvCell, cellText, CsvReader } from "./CsvReader.ts"

interface Exporting {
  /** With the filters, the order and the columns. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Whether spreadsheet programs must not take cells for formulas. */
  readonly forSpreadsheets: boolean
  readonly signal: AbortSignal
  /** Bytes that have arrived. */
  readonly onProgress: (bytes: number) => void
}

interface Exported {
  readonly file: Blob
  /** The number of rows at which it may end too early; undefined: it has all. */
  readonly cutAt: string | undefined
}

/** Bytes of a part: the browser may keep each on disk. */
const partSize = 4 * 1024 * 1024

/** What spreadsheet programs run as a formula. Negative numbers are left as they are. */
const formula = /^[=+@\t\r]|^-(?![\d.]+(?:e[-+]?\d+)?$)/i
const harmless = (cell: CsvCell): CsvCell => (formula.test(cell.text) ? { ...cell, text: `'${cell.text}` } : cell)

/** Makes formulas texts. */
const withoutFormulas = () => {
  const reader = new CsvReader(",")
  return new TransformStream<string, string>({
    transform: (text, controller) => controller.enqueue(linesOf(reader.read(text))),
    flush: (controller) => controller.enqueue(linesOf(reader.read("", true)))
  })
}
const linesOf = (records: ReturnType<CsvReader["read"]>) =>
  records.map(({ cells }) => `${cells.map((cell) => cellText(harmless(cell))).join(",")}\n`).join("")

/** All rows of a view as CSV. They are never in memory as a whole; a failure on the way leaves no file. */
export const exportRows = async (given: Exporting): Promise<Exported> => {
  const { forSpreadsheets, headers, onProgress, path, signal } = given
  const { body, headers: answered } = await open(path, { headers: { accept: "text/csv", ...headers }, signal })
  // A service key's rows are streamed without a limit; those of other callers end there.
  const cutAt = answered.get("x-max-rows") ?? undefined
  if (body === null) return { file: new Blob(), cutAt }
  const stream: ReadableStream<Uint8Array | string> = forSpreadsheets
    ? body.pipeThrough(new TextDecoderStream()).pipeThrough(withoutFormulas())
    : body
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
    if (done) return { file: new Blob(parts, { type: "text/csv" }), cutAt }
  }
}

/** Hands a file to the browser, which saves it where downloads go. */
export const save = (file: Blob, name: string) => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
