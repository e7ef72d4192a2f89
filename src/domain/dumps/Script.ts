import { DumpRows } from "./Rows.ts"
import { type DumpStatement, StatementShape } from "./Statement.ts"
import { DumpTokens } from "./Tokens.ts"

export type DumpPiece =
  | DumpStatement
  /** Some of what COPY reads; cut anywhere. */
  | { readonly kind: "rows"; readonly bytes: Buffer }
  | { readonly kind: "rows end" }
  /** Nothing more can be read. */
  | { readonly kind: "problem"; readonly problem: string }

/** Largest statement, in bytes. Rows are in none. */
export const largestStatement = 256 * 1024 * 1024

const commandLine = /^\\(restrict|unrestrict) ([A-Za-z0-9]+)\s*$/

/**
 * Reads a script of pg_dump as its bytes come, however they are cut: `read` for each piece, then `end`. Statements end
 * where psql ends them. `statements` of SqlText looks ahead in one decoded text; here no more than one statement is
 * held, and nothing is decoded, because a dump is in its database's encoding. Commands of psql are a problem, but for
 * the two lines that pg_dump puts around a script.
 */
export class DumpScript {
  private problem: string | undefined
  private any = false
  private shape = new StatementShape()
  private parts: Array<Buffer> = []
  private size = 0
  /** Where in the piece the statement goes on; -1: it has not begun. */
  private from = -1
  private rows = new DumpRows()
  private readonly tokens: DumpTokens
  /** Of the first line, to be given back by the last. */
  private key: string | undefined
  private over = false

  constructor() {
    // The tokens ask for the shape of whichever statement is read just then.
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

  /** Behind a COPY statement that wants rows, before the next piece is taken. */
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

  /** Why the script can't end here. */
  end(): string | undefined {
    const { mode } = this.tokens
    if (this.problem !== undefined) return this.problem
    if (mode === "copy" || mode === "rows") return "The script ends in the middle of a table's rows"
    if (this.from >= 0 || (mode !== "code" && mode !== "line")) return "The script ends in the middle of a statement"
    if (!this.any) return "The script holds no statement"
    return this.key === undefined || this.over ? undefined : "The script ends before its last line"
  }

  private fail(problem: string) {
    this.problem ??= problem
  }

  private keep(part: Buffer) {
    if (part.length === 0) return
    this.parts.push(part)
    this.size += part.length
    if (this.size > largestStatement) this.fail(`A statement has more than ${largestStatement} bytes`)
    else if (part.includes(0)) this.fail("A statement holds a NUL byte")
  }

  private begin(at: number) {
    if (this.from >= 0) return
    if (this.over) this.fail("The script goes on behind its last line")
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
    else this.fail(`The script holds a command of psql, which is never run: ${line.slice(0, 20)}`)
  }
}
