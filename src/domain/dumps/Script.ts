import { type DumpStatement, StatementShape } from "./Statement.ts"
import { DumpTokens } from "./Tokens.ts"

const lineBreakAndBackslash = Buffer.from("\n\\")
const nothing = Buffer.alloc(0)

/** The part of a chunk that belongs to the rows of a COPY. */
interface DumpRowsRead {
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
class DumpRows {
  /** Bytes that may begin the last line. */
  private held = nothing
  private lineStarts = true

  read(chunk: Buffer, at: number): DumpRowsRead {
    const heldBytes = this.held.length
    const data = heldBytes > 0 ? Buffer.concat([this.held, chunk.subarray(at)]) : chunk.subarray(at)
    this.held = nothing
    const nextMark = (from: number) => {
      const index = data.indexOf(lineBreakAndBackslash, from)
      return index < 0 ? -1 : index + 1
    }
    for (let mark = this.lineStarts && data[0] === 92 ? 0 : nextMark(0); mark >= 0; mark = nextMark(mark)) {
      const end = markEnd(data, mark)
      if (end > 0) return { rows: data.subarray(0, mark), ended: true, next: at + end - heldBytes }
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

export type DumpPiece =
  | DumpStatement
  /** Some of the rows of a COPY, split anywhere. */
  | { readonly kind: "rows"; readonly bytes: Buffer }
  | { readonly kind: "rows end" }
  /** Reading has failed. */
  | { readonly kind: "problem"; readonly problem: string }

/** Maximum size of a statement in bytes, without rows. */
export const maxStatement = 256 * 1024 * 1024

const commandLine = /^\\(restrict|unrestrict) ([A-Za-z0-9]+)\s*$/

/**
 * Splits a script of pg_dump from any chunks of bytes: `read` for each chunk, then `end`. Statements end where psql ends
 * them. Unlike `statements` of sql/Statements.ts, it holds at most one statement, and decodes nothing, because a dump has
 * its database's encoding. psql commands are errors, except for the two lines with which pg_dump encloses a script.
 */
export class DumpScript {
  private problem: string | undefined
  private any = false
  private shape = new StatementShape()
  private parts: Array<Buffer> = []
  private size = 0
  /** The offset in the chunk at which the statement continues; -1: it has not begun. */
  private from = -1
  private rows = new DumpRows()
  private readonly tokens: DumpTokens
  /** The key of the first line, which the last line repeats. */
  private key: string | undefined
  private over = false

  constructor() {
    // Getters, because the shape is replaced for each statement.
    const shape = () => this.shape
    const begun = () => this.from >= 0
    this.tokens = new DumpTokens({
      get shape() {
        return shape()
      },
      get begun() {
        return begun()
      },
      begin: (at) => this.begin(at),
      command: (line) => this.command(line),
      fail: (problem) => this.fail(problem)
    })
  }

  /** The session's standard_conforming_strings, which a statement may have changed. */
  set standardStrings(on: boolean) {
    this.tokens.standardStrings = on
  }

  /** Must be called after a COPY statement that requests rows, before the next piece is read. */
  startRows() {
    this.tokens.mode = "copy"
    this.rows = new DumpRows()
  }

  *read(chunk: Buffer): Generator<DumpPiece, void> {
    const { tokens } = this
    let at = 0
    if (this.from > 0) this.from = 0
    while (at < chunk.length && this.problem === undefined) {
      if (tokens.mode === "rows") {
        const { ended, next, rows } = this.rows.read(chunk, at)
        at = next
        if (rows.length > 0) yield { kind: "rows", bytes: rows }
        if (ended) {
          tokens.mode = "code"
          yield { kind: "rows end" }
        }
      } else if (tokens.mode === "code" && chunk[at] === 59 && !this.shape.open) {
        const statement = this.finish(chunk, at)
        at++
        if (statement !== undefined) yield statement
      } else at = tokens.step(chunk, at)
    }
    if (this.from >= 0) this.keep(chunk.subarray(this.from))
    tokens.previous = chunk.at(-1) ?? tokens.previous
    if (this.problem !== undefined) yield { kind: "problem", problem: this.problem }
  }

  /** Why the script must not end here. */
  end(): string | undefined {
    const { mode } = this.tokens
    if (this.problem !== undefined) return this.problem
    if (mode === "copy" || mode === "rows") return "The script ends within the rows of a table"
    if (this.from >= 0 || (mode !== "code" && mode !== "line")) return "The script ends within a statement"
    if (!this.any) return "The script contains no statements"
    return this.key === undefined || this.over ? undefined : "The script ends before its last line"
  }

  private fail(problem: string) {
    this.problem ??= problem
  }

  private keep(part: Buffer) {
    if (part.length === 0) return
    this.parts.push(part)
    this.size += part.length
    if (this.size > maxStatement) this.fail(`A statement has more than ${maxStatement} bytes`)
    else if (part.includes(0)) this.fail("A statement contains a NUL byte")
  }

  private begin(at: number) {
    if (this.from >= 0) return
    if (this.over) this.fail("The script continues after its last line")
    if (at < 0) this.keep(Buffer.from([this.tokens.previous]))
    this.from = Math.max(at, 0)
    this.any = true
  }

  private finish(chunk: Buffer, at: number): DumpStatement | undefined {
    if (this.from < 0) return undefined
    this.keep(chunk.subarray(this.from, at))
    const { parts, shape, size } = this
    this.from = -1
    this.parts = []
    this.size = 0
    this.shape = new StatementShape()
    if (this.problem !== undefined) return undefined
    return { kind: "statement", parts, size, head: shape.head, owner: shape.owner }
  }

  private command(line: string) {
    const [, what, key] = commandLine.exec(line) ?? []
    if (what === "restrict" && this.key === undefined && !this.any) this.key = key
    else if (what === "unrestrict" && key === this.key && !this.over) this.over = true
    else this.fail(`The script contains a psql command, which is not supported: ${line.slice(0, 20)}`)
  }
}
