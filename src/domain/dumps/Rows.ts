const lineBreakAndBackslash = Buffer.from("\n\\")
const nothing = Buffer.alloc(0)

/** What a piece of a stream holds of the rows behind COPY. */
export interface DumpRowsRead {
  readonly rows: Buffer
  /** Whether their last line, `\.`, was there. */
  readonly ended: boolean
  /** Where the piece goes on behind them. */
  readonly next: number
}

/** The position behind `\.` and its line break at `at`; 0 when something else stands there, -1 when more is needed. */
const markEnd = (data: Buffer, at: number) => {
  const [dot, first, second] = [data[at + 1], data[at + 2], data[at + 3]]
  if (dot === undefined) return -1
  if (dot !== 46) return 0
  if (first === undefined || (first === 13 && second === undefined)) return -1
  if (first === 10) return at + 3
  return first === 13 && second === 10 ? at + 4 : 0
}

/** The rows behind one COPY, however they are cut. A value never makes such a line: its backslash is doubled. */
export class DumpRows {
  /** What may be the beginning of the last line. */
  private held = nothing
  private lineStarts = true

  read(chunk: Buffer, at: number): DumpRowsRead {
    const held = this.held.length
    const data = held > 0 ? Buffer.concat([this.held, chunk.subarray(at)]) : chunk.subarray(at)
    this.held = nothing
    const nextMark = (from: number) => {
      const found = data.indexOf(lineBreakAndBackslash, from)
      return found < 0 ? -1 : found + 1
    }
    for (let mark = this.lineStarts && data[0] === 92 ? 0 : nextMark(0); mark >= 0; mark = nextMark(mark)) {
      const end = markEnd(data, mark)
      if (end > 0) return { rows: data.subarray(0, mark), ended: true, next: at + end - held }
      if (end < 0) {
        this.held = Buffer.from(data.subarray(mark))
        this.lineStarts = true
        return { rows: data.subarray(0, mark), ended: false, next: chunk.length }
      }
    }
    this.lineStarts = data.at(-1) === 10
    return { rows: data, ended: false, next: chunk.length }
  }
}
