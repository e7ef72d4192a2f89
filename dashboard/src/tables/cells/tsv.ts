/*
 * Text between this page and sheets: cells are separated by tabs, rows by line ends. A cell that has one of these is in
 * quotes, and so is one that begins with a quote.
 */

const written = (cell: string) => (/[\t\r\n]|^"/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export const tsvOf = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows.map((cells) => cells.map(written).join("\t")).join("\n")

/** A cell in quotes ends with its row or before the next cell; any other quote is a letter. */
const cell = /(?:"((?:[^"]|"")*)"(?=[\t\r\n]|$)|([^\t\r\n]*))(\t|\r\n|\n|\r|$)/gy

export const parseTsv = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const rows: Array<Array<string>> = [[]]
  // The end of the last row begins no other.
  for (const [, quoted, plain = "", end] of text.replace(/\r?\n$|\r$/, "").matchAll(cell)) {
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === "") break
    if (end !== "\t") rows.push([])
  }
  return rows
}
