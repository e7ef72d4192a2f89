import { exactRow, parseFaithful } from "../../wire/exact.ts"
import type { Wire } from "../../wire/Wire.ts"

type Answer = Wire["POST /v1/sql"]["success"]
type Row = Answer["rows"][number]

/** Where a part of a text begins and ends. */
type Place = readonly [from: number, to: number]

const codeOf = (one: string) => one.charCodeAt(0)
const [quote, backslash, comma] = [codeOf(`"`), codeOf("\\"), codeOf(",")]
const isOpening = (code: number) => code === codeOf("[") || code === codeOf("{")
const isClosing = (code: number) => code === codeOf("]") || code === codeOf("}")

/** Behind the string that begins at `from`. */
const stringEnd = (text: string, from: number) => {
  let at = from + 1
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at + 1
}

/** The elements of the array, or the fields of the object, that begins at `from`. The text is JSON. */
const partsOf = (text: string, from: number): ReadonlyArray<Place> => {
  const parts: Array<Place> = []
  let depth = 0
  let begin = from
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at) - 1
    else if (isOpening(code)) {
      depth += 1
      if (depth === 1) begin = at + 1
    } else if (isClosing(code)) {
      depth -= 1
      if (depth > 0) continue
      if (text.slice(begin, at).trim() !== "") parts.push([begin, at])
      break
    } else if (code === comma && depth === 1) {
      parts.push([begin, at])
      begin = at + 1
    }
  }
  return parts
}

/** The place of the value of each field of the object that begins at `from`. */
const fieldsOf = (text: string, from: number): ReadonlyMap<string, Place> =>
  new Map(
    partsOf(text, from).map(([begin, to]) => {
      const name = text.indexOf('"', begin)
      const end = stringEnd(text, name)
      return [JSON.parse(text.slice(name, end)) as string, [text.indexOf(":", end) + 1, to]] as const
    })
  )

/**
 * The rows of a result. Each is parsed when it is first looked at: 500,000 values at once, with exact numbers, would hold
 * the page up for seconds.
 */
class Rows {
  private readonly text: string
  private readonly places: ReadonlyArray<Place>
  private readonly parsed: Array<Row | undefined> = []

  constructor(text: string, from: number) {
    this.text = text
    this.places = partsOf(text, from)
  }

  get length() {
    return this.places.length
  }

  /** As PostgreSQL wrote it. */
  json(index: number): string {
    const [from, to] = this.places[index] ?? [0, 0]
    return this.text.slice(from, to)
  }

  at(index: number): Row {
    return (this.parsed[index] ??= exactRow(parseFaithful(this.json(index)) as Row))
  }

  slice(from: number, to: number): ReadonlyArray<Row> {
    return Array.from({ length: Math.max(0, Math.min(to, this.length) - from) }, (_, at) => this.at(from + at))
  }
}

export type Result = Omit<Answer, "rows"> & { readonly rows: Rows }

/** ms for which the page may not respond. */
const slice = 30

/** Does something for each row. For many it takes seconds, in which the page goes on. */
export const inSlices = async (rows: number, each: (at: number) => unknown, signal?: AbortSignal) => {
  let begun = performance.now()
  for (let at = 0; at < rows; at++) {
    each(at)
    if (performance.now() - begun < slice) continue
    await new Promise((done) => setTimeout(done))
    if (signal?.aborted === true) return
    begun = performance.now()
  }
}

/** The response of `/v1/sql` that begins at `from`. */
const resultAt = (text: string, from: number): Result => {
  const fields = Array.from(fieldsOf(text, from), ([name, [begin, to]]) => [
    name,
    name === "rows" ? new Rows(text, begin) : parseFaithful(text.slice(begin, to))
  ])
  return Object.fromEntries(fields) as Result
}

/** The response of `/v1/sql`. */
export const parseResult = (text: string): Result => resultAt(text, 0)

/** The response of `/v1/sql/transaction`. */
export const parseResults = (text: string): ReadonlyArray<Result> => {
  const [from] = fieldsOf(text, 0).get("results") ?? []
  return from === undefined ? [] : partsOf(text, from).map(([begin]) => resultAt(text, begin))
}
