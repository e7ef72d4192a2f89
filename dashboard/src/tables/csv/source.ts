import { cellText, CsvReader, type CsvRecord } from "./CsvReader.ts"

export const encodings = [
  ["utf-8", "UTF-8"],
  ["windows-1252", "Western (Windows-1252, Latin-1)"],
  ["utf-16le", "UTF-16"]
] as const
export const separators = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"]
] as const

/** How the bytes of a file are read. */
export interface Format {
  readonly encoding: string
  readonly separator: string
}

/** Bytes of a file that are looked at before it is sent. */
const headBytes = 256 * 1024
/** Rows that are shown of it. */
const shownRows = 8

const decode = (bytes: Uint8Array, encoding: string, fatal = false) =>
  // A character that the end of the head has cut is left out.
  new TextDecoder(encoding, { fatal, ignoreBOM: true }).decode(bytes, { stream: true })

const encodingOf = (bytes: Uint8Array) => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le"
  try {
    decode(bytes, "utf-8", true)
    return "utf-8"
  } catch {
    return "windows-1252"
  }
}

const byteOrderMark = "\uFEFF"
const recordsOf = (text: string, separator: string, whole: boolean) => new CsvReader(separator).read(text, whole)

/** The start of a file, read as `format` says, or as it looks like. */
export interface Head extends Format {
  /** The first record. */
  readonly names: ReadonlyArray<string>
  readonly rows: ReadonlyArray<CsvRecord>
  /** Where the first record ends, in bytes of UTF-8. */
  readonly bodyFrom: number
}

export const readHead = async (file: Blob, format?: Format): Promise<Head> => {
  const bytes = new Uint8Array(await file.slice(0, headBytes).arrayBuffer())
  const encoding = format?.encoding ?? encodingOf(bytes)
  const text = decode(bytes, encoding)
  const marked = text.startsWith(byteOrderMark) ? 1 : 0
  const read = (separator: string) => recordsOf(text.slice(marked), separator, file.size <= headBytes)
  const best = () =>
    separators
      .map(([separator]) => ({ separator, cells: read(separator)[0]?.cells.length ?? 0 }))
      .toSorted((a, b) => b.cells - a.cells)[0]?.separator ?? ","
  const separator = format?.separator ?? best()
  const [first, ...rows] = read(separator)
  return {
    encoding,
    separator,
    names: first?.cells.map((cell) => cell.text.trim()) ?? [],
    rows: rows.slice(0, shownRows),
    bodyFrom: new TextEncoder().encode(text.slice(0, marked + (first?.end ?? 0))).length
  }
}

/** The column of the table that each column of the file goes to; undefined: it is left out. */
export type Targets = ReadonlyArray<string | undefined>

/** Letters and digits: "Customer ID" is customer_id. */
const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "")

/** By equal names, then by names that differ in case and signs. Each column of the table is used once. */
export const targetsOf = (names: ReadonlyArray<string>, columns: ReadonlyArray<string>): Targets => {
  const taken = new Set<string>()
  const take = (found: string | undefined) => {
    if (found !== undefined) taken.add(found)
    return found
  }
  const equal = names.map((name) => take(columns.find((column) => column === name && !taken.has(column))))
  return names.map(
    (name, at) =>
      equal[at] ??
      take(columns.find((column) => plain(name) !== "" && plain(column) === plain(name) && !taken.has(column)))
  )
}

const lineOf = (texts: ReadonlyArray<string>) => `${texts.join(",")}\n`
const headLine = (targets: Targets) =>
  lineOf(targets.flatMap((text) => (text === undefined ? [] : [cellText({ text, quoted: true })])))

/** Whether the rows can be sent as they are in the file. */
const isAsSent = ({ encoding, names, separator }: Head, targets: Targets) =>
  encoding === "utf-8" && separator === "," && targets.length === names.length && !targets.includes(undefined)

/** Characters of a part: the browser may keep each on disk. */
const partLength = 4_000_000

/** What is sent: the file with the names of the table's columns, in UTF-8, with commas. It is never in memory as a whole. */
export const bodyOf = async (file: Blob, head: Head, targets: Targets, signal: AbortSignal): Promise<Blob> => {
  if (isAsSent(head, targets)) return new Blob([headLine(targets), file.slice(head.bodyFrom)])
  const reader = new CsvReader(head.separator)
  const parts: Array<Blob> = []
  let text = ""
  let first = true
  const add = (records: ReadonlyArray<CsvRecord>) => {
    for (const { cells } of records) {
      text += first
        ? headLine(targets)
        : // A record with more cells than names must not become a valid one.
          lineOf(cells.filter((_, at) => at >= targets.length || targets[at] !== undefined).map(cellText))
      first = false
    }
    if (text.length < partLength) return
    parts.push(new Blob([text]))
    text = ""
  }
  const decoder = new TextDecoder(head.encoding)
  const stream = file.stream().getReader()
  for (;;) {
    signal.throwIfAborted()
    const { done, value } = await stream.read()
    add(reader.read(decoder.decode(value ?? new Uint8Array(), { stream: !done }), done))
    if (done) return new Blob([...parts, text])
  }
}

/** Characters of a line that are shown. */
const mostShown = 400

/** One line of a file, to find it in an editor. */
export const lineAt = async (file: Blob, encoding: string, wanted: number): Promise<string | undefined> => {
  const decoder = new TextDecoder(encoding)
  const stream = file.stream().getReader()
  let line = 1
  let found = ""
  for (;;) {
    const { done, value } = await stream.read()
    const text = decoder.decode(value ?? new Uint8Array(), { stream: !done })
    let from = 0
    for (; line < wanted; line++) {
      const end = text.indexOf("\n", from)
      if (end < 0) break
      from = end + 1
    }
    if (line === wanted) {
      const end = text.indexOf("\n", from)
      found += text.slice(from, end < 0 ? text.length : end)
      if (end >= 0 || done || found.length > mostShown) {
        await stream.cancel()
        return found.length > mostShown ? `${found.slice(0, mostShown)}…` : found
      }
    } else if (done) return undefined
  }
}
