import { Result } from "effect"

/** A syntax error: its line, from 1, and what is wrong. */
export interface CsvProblem {
  readonly line: number
  readonly text: string
}

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d

const endsField = (code: number) => code === comma || code === lineFeed || code === carriageReturn || Number.isNaN(code)

/**
 * The records of a CSV text (RFC 4180): fields separated by commas, and quoted if they contain commas, quotes (doubled)
 * or line ends. Lines end with CRLF, LF or CR, optional for the last one; empty lines are skipped. Not csv-parse: it
 * takes four times as long, 130 instead of 33 ms for 2.7 MB, during which no other request is served.
 */
export const parseCsv = (text: string): Result.Result<ReadonlyArray<ReadonlyArray<string>>, CsvProblem> => {
  const records: Array<ReadonlyArray<string>> = []
  let record: Array<string> = []
  let line = 1
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const problem = (why: string) => Result.fail({ line, text: why })
  while (at < text.length) {
    if (text.charCodeAt(at) === quote) {
      let field = ""
      let from = ++at
      const opened = line
      for (;;) {
        const code = text.charCodeAt(at)
        if (Number.isNaN(code)) return Result.fail({ line: opened, text: "a quoted field does not end" })
        if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) line++
        if (code !== quote) at++
        else {
          field += text.slice(from, at)
          if (text.charCodeAt(at + 1) !== quote) break
          field += '"'
          from = at += 2
        }
      }
      at++
      if (!endsField(text.charCodeAt(at))) return problem("something follows a quoted field")
      record.push(field)
    } else {
      const from = at
      for (let code = text.charCodeAt(at); !endsField(code); code = text.charCodeAt(++at)) {
        if (code === quote) return problem("a quote is in a field that is not quoted")
      }
      record.push(text.slice(from, at))
    }
    const end = text.charCodeAt(at)
    if (end === comma) {
      at++
      // A comma at the end of the text is followed by an empty field.
      if (at < text.length) continue
      record.push("")
    }
    if (record.length > 1 || record[0] !== "") records.push(record)
    record = []
    line++
    at += end === carriageReturn && text.charCodeAt(at + 1) === lineFeed ? 2 : 1
  }
  return Result.succeed(records)
}
