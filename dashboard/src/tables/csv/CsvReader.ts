export interface CsvCell {
  readonly text: string
  /** A cell in quotes is never NULL. */
  readonly quoted: boolean
}

export interface CsvRecord {
  readonly cells: ReadonlyArray<CsvCell>
  /** On which it begins, from 1. */
  readonly line: number
  /** Where the next one begins, in characters of the whole text. */
  readonly end: number
}

const quote = 0x22
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Reads CSV (RFC 4180) in pieces of any size, as PostgreSQL does: lines end with LF or CRLF, and an empty line is a record
 * with one empty cell.
 */
export class CsvReader {
  private readonly separator: number
  private state: "start" | "plain" | "quoted" | "unquoted" = "start"
  private text = ""
  private quoted = false
  private cells: Array<CsvCell> = []
  private line = 1
  private began = 1
  private before = 0

  constructor(separator: string) {
    this.separator = separator.charCodeAt(0)
  }

  /** The records that end in the piece; with the last piece, the rest as well. */
  read(piece: string, last = false): ReadonlyArray<CsvRecord> {
    const records: Array<CsvRecord> = []
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (code === lineFeed) this.line++
      switch (this.state) {
        case "quoted":
          if (code !== quote) continue
          this.text += piece.slice(from, at)
          this.state = "unquoted"
          continue
        case "unquoted":
          if (code === quote) {
            // The second of two is a quote of the text.
            from = at
            this.state = "quoted"
            continue
          }
          from = at
          break
        case "start":
          if (code === quote) {
            from = at + 1
            this.quoted = true
            this.state = "quoted"
            continue
          }
          from = at
          break
        default:
      }
      if (code !== this.separator && code !== lineFeed) {
        this.state = "plain"
        continue
      }
      this.text += piece.slice(from, at)
      this.endCell(code === lineFeed && this.state === "plain")
      if (code === lineFeed) records.push(this.endRecord(this.before + at + 1))
    }
    if (this.state === "plain" || this.state === "quoted") this.text += piece.slice(from)
    this.before += piece.length
    if (last && (this.cells.length > 0 || this.state !== "start")) {
      this.endCell(this.state === "plain")
      records.push(this.endRecord(this.before))
    }
    return records
  }

  private endCell(mayReturn: boolean) {
    const cut = mayReturn && this.text.charCodeAt(this.text.length - 1) === carriageReturn
    this.cells.push({ text: cut ? this.text.slice(0, -1) : this.text, quoted: this.quoted })
    this.text = ""
    this.quoted = false
    this.state = "start"
  }

  private endRecord(end: number): CsvRecord {
    const record = { cells: this.cells, line: this.began, end }
    this.cells = []
    this.began = this.line
    return record
  }
}

const special = /[",\r\n]/

/** A cell as it is sent: with commas, and in quotes if it was, or if it would end elsewhere without. */
export const cellText = ({ quoted, text }: CsvCell): string =>
  quoted || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
