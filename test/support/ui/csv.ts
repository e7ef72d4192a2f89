/** RFC 4180, of a text that is known to be valid. */
export const parseCsv = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const rows: Array<Array<string>> = [[]]
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y
  for (;;) {
    const found = cell.exec(text)
    if (found === null) throw new Error(`Not CSV at ${cell.lastIndex}`)
    rows.at(-1)?.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? "")
    if (found[3] === "") return rows
    if (found[3] === "\r\n") rows.push([])
  }
}
