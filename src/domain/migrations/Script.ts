import { type SqlPiece, statementsIn } from "../sql/Statements.ts"

/** A migration file that can be run. Offsets and lines are those of the file, without its byte order mark. */
export interface MigrationScript {
  readonly text: string
  /** False: the statements run one by one, outside a transaction. */
  readonly inTransaction: boolean
  readonly pieces: ReadonlyArray<SqlPiece>
}

/** Why a file can't be run. `line` counts from 1. */
export interface ScriptProblem {
  readonly problem: string
  readonly hint: string
  readonly line: number
}

/** The first line of files with statements such as CREATE INDEX CONCURRENTLY. */
export const noTransaction = "-- svc: no transaction"
const noTransactionLine = /^[ \t]*--[ \t]*svc:[ \t]*no[ -]transaction[ \t]*(?:\r?\n|$)/i

/** The line at which Drizzle splits a file. The statement before may lack its semicolon. */
const breakpoint = "--> statement-breakpoint"
/** Has the same length, so that positions stay. */
const semicolon = ";-- statement-breakpoint"

/** The start of the down migration in files of dbmate, goose and sql-migrate. */
const downPart = /^[ \t]*--[ \t]*(?:migrate:down|\+goose[ \t]+down|\+migrate[ \t]+down)\b/im

const plainBegin = /^(?:begin(?:\s+(?:work|transaction))?|start\s+transaction)$/i
const plainCommit = /^(?:commit|end)(?:\s+(?:work|transaction))?$/i
const toSavepoint = /^rollback(?:\s+(?:work|transaction))?\s+to\b/i

const copiesIn = ({ keyword, text }: SqlPiece) => keyword === "COPY" && /\bfrom\s+stdin\b/i.test(text)

const opens = ({ keyword, second }: SqlPiece) =>
  keyword === "BEGIN" || (keyword === "START" && second === "TRANSACTION")
const closes = ({ keyword, second, text }: SqlPiece) =>
  keyword === "COMMIT" ||
  keyword === "END" ||
  keyword === "ABORT" ||
  (keyword === "PREPARE" && second === "TRANSACTION") ||
  (keyword === "ROLLBACK" && !toSavepoint.test(text))

/** The 1-based line of an offset in UTF-16 units. */
export const lineAt = (text: string, offset: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++
  return line
}

/** The offset in UTF-16 units of PostgreSQL's 1-based position in characters. */
export const offsetOf = (text: string, position: number): number => {
  let offset = 0
  for (let n = 1; n < position && offset < text.length; n++) offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  return offset
}

const blanked = (text: string, { offset, text: piece }: SqlPiece) =>
  text.slice(0, offset) + piece.replaceAll(/[^\r\n]/g, " ") + text.slice(offset + piece.length)

/** `breakpoints`: the file is one of Drizzle's. */
export const migrationScript = (source: string, breakpoints: boolean): MigrationScript | ScriptProblem => {
  const text = breakpoints ? source.replaceAll(breakpoint, semicolon) : source
  const down = downPart.exec(text)
  if (down !== null) {
    return {
      problem: "The file also contains its down migration, which would undo it at once",
      hint: "Run it with the tool it was written for, or remove the down migration",
      line: lineAt(text, down.index)
    }
  }
  const pieces = statementsIn(text)
  const copy = pieces.find(copiesIn)
  if (copy !== undefined) {
    return {
      problem: "COPY FROM stdin needs a client that sends the rows, such as psql",
      hint: "Use INSERT",
      line: lineAt(text, copy.offset)
    }
  }
  if (noTransactionLine.test(text)) {
    return leftOpen(text, pieces) ?? { text, inTransaction: false, pieces }
  }
  const [first] = pieces
  const last = pieces.at(-1)
  const wrapped = first !== last && first && last && plainBegin.test(first.text) && plainCommit.test(last.text)
  const inner = wrapped ? pieces.slice(1, -1) : pieces
  const control = inner.find((piece) => opens(piece) || closes(piece))
  if (control !== undefined) {
    return {
      problem: `The file begins or ends a transaction itself (${control.keyword})`,
      hint: `Each file already runs in a transaction: remove the statement, or put "${noTransaction}" on the first line`,
      line: lineAt(text, control.offset)
    }
  }
  return { text: wrapped ? blanked(blanked(text, first), last) : text, inTransaction: true, pieces: inner }
}

/** How many statements of a file outside a transaction stay when statement `index` fails. */
export const keptBefore = ({ pieces }: MigrationScript, index: number): number => {
  let open: number | undefined
  for (const [i, piece] of pieces.slice(0, index).entries()) {
    if (opens(piece)) open ??= i
    else if (closes(piece)) open = undefined
  }
  return open ?? index
}

const leftOpen = (text: string, pieces: ReadonlyArray<SqlPiece>): ScriptProblem | undefined => {
  let open: SqlPiece | undefined
  for (const piece of pieces) {
    if (opens(piece)) open ??= piece
    else if (closes(piece)) open = undefined
  }
  return (
    open && {
      problem: "The file begins a transaction and does not end it",
      hint: "Add COMMIT",
      line: lineAt(text, open.offset)
    }
  )
}
