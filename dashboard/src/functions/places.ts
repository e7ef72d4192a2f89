/** A place in the code of a function, from 1. */
export interface CodePlace {
  readonly path: string
  readonly line: number
  readonly column: number
}

/** A text in pieces: what is a place in one of the files, and what is not. */
export const piecesOf = (text: string, paths: ReadonlyArray<string>): ReadonlyArray<string | CodePlace> => {
  if (paths.length === 0) return [text]
  const names = paths.map((path) => path.replaceAll(/[^\w/]/g, String.raw`\$&`))
  const place = new RegExp(String.raw`(?<![\w./@-])(${names.join("|")}):(\d+):(\d+)`, "g")
  const pieces: Array<string | CodePlace> = []
  let end = 0
  for (const match of text.matchAll(place)) {
    const [whole, path = "", line, column] = match
    if (match.index > end) pieces.push(text.slice(end, match.index))
    pieces.push({ path, line: Number(line), column: Number(column) })
    end = match.index + whole.length
  }
  if (end < text.length) pieces.push(text.slice(end))
  return pieces
}
