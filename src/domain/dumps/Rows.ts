const lineBreakAndBackslash = Buffer.from("\n\\")
const nothing = Buffer.alloc(0)

/** The part of a chunk that belongs to the rows of a COPY. */
export interface DumpRowsRead {
  readonly rows: Buffer
  /** Whether the last line, `\.`, was reached. */
  readonly ended: boolean
  /** The offset in the chunk after the rows. */
  readonly next: number
}

/** The position after `\.` and its line break at `at`; 0 for anything else, -1 when more bytes are needed. */
const markEnd = (data: Buffer, at: number) => {
  const [dot, first, second] = [data[at + 1], data[at + 2], data[at + 3]]
  if (dot === undefined) return -1
  if (dot !== 46) return 0
  if (first === undefined || (first === 13 && second === undefined)) return -1
  if (first === 10) return at + 3
  return first === 13 && second === 10 ? at + 4 : 0
}

/** Reads the rows of one COPY from any chunks. A value can't contain the last line, as its backslashes are doubled. */
export class DumpRows {
  /** Bytes that may begin the last line. */
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
