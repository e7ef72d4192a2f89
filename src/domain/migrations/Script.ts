import { type SqlPiece, statementsIn } from "../sql/Statements.ts"
import { type HistoryKeeper } from "./History.ts"

/** A text that PostgreSQL gets at once, and its offset in the file. */
type Part = Pick<SqlPiece, "text" | "offset">

/** A migration file that can be run. Offsets and lines are those of the file, without its byte order mark. */
export interface MigrationScript {
  readonly text: string
  readonly parts: ReadonlyArray<Part>
  /** Whether all parts run in one transaction, together with the record in the history. */
  readonly inTransaction: boolean
  /** Whether the file begins or ends transactions itself. */
  readonly controls: boolean
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

/** Statements that some of their forms can't be part of a transaction. */
const lonely: ReadonlySet<string> = new Set("CREATE DROP ALTER REINDEX CLUSTER VACUUM".split(" "))

/** The statement of a file that is alone in it, and may have to run without a transaction (25001). */
export const isLonely = ({ pieces: [first, second] }: MigrationScript): boolean =>
  first !== undefined && second === undefined && lonely.has(first.keyword)

/** The script without a transaction of ours, as one text: PostgreSQL makes one for it. */
export const withoutTransaction = (script: MigrationScript): MigrationScript => ({ ...script, inTransaction: false })

const problemOf = (text: string, pieces: ReadonlyArray<SqlPiece>): ScriptProblem | undefined => {
  const down = downPart.exec(text)
  if (down !== null) {
    return {
      problem: "The file also contains its down migration, which would undo it at once",
      hint: "Run it with the tool it was written for, or remove the down migration",
      line: lineAt(text, down.index)
    }
  }
  const copy = pieces.find(copiesIn)
  if (copy === undefined) return leftOpen(text, pieces)
  return {
    problem: "COPY FROM stdin needs a client that sends the rows, such as psql",
    hint: "Use INSERT",
    line: lineAt(text, copy.offset)
  }
}

/** The parts of one of Drizzle's files, each of which Drizzle sends by itself. */
const segmentsOf = (text: string): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  for (let offset = 0; offset <= text.length;) {
    const end = text.indexOf(semicolon, offset)
    parts.push({ text: text.slice(offset, end < 0 ? text.length : end), offset })
    offset = end < 0 ? text.length + 1 : end + semicolon.length
  }
  return parts
}

/**
 * How a file runs, which is how the tool of the history runs it, so that its files need no change: Prisma sends the whole
 * text, Drizzle its segments within a transaction. Without a tool and with Supabase's history it is a transaction as well,
 * unless the file begins or ends some itself. `breakpoints`: the file is one of Drizzle's.
 */
export const migrationScript = (
  source: string,
  keeper: HistoryKeeper,
  breakpoints = keeper === "drizzle"
): MigrationScript | ScriptProblem => {
  const text = breakpoints ? source.replaceAll(breakpoint, semicolon) : source
  const pieces = statementsIn(text)
  const problem = problemOf(text, pieces)
  if (problem !== undefined) return problem
  const controls = pieces.some((piece) => opens(piece) || closes(piece))
  const whole = { text, pieces, controls, parts: [{ text, offset: 0 }] }
  if (noTransactionLine.test(text)) return { ...whole, parts: pieces, inTransaction: false }
  if (keeper === "prisma") return { ...whole, inTransaction: false }
  if (keeper === "drizzle") return { ...whole, parts: segmentsOf(text), inTransaction: true }
  if (!controls) return { ...whole, inTransaction: true }
  const [first] = pieces
  const last = pieces.at(-1)
  const inner = pieces.slice(1, -1)
  const wraps = first !== last && first && last && plainBegin.test(first.text) && plainCommit.test(last.text)
  if (!wraps || inner.some((piece) => opens(piece) || closes(piece))) return { ...whole, inTransaction: false }
  const bare = blanked(blanked(text, first), last)
  return { text: bare, pieces: inner, controls: false, parts: [{ text: bare, offset: 0 }], inTransaction: true }
}

/** The number of statements that end before an offset. */
const statementsBefore = ({ pieces }: MigrationScript, offset: number) =>
  pieces.filter((piece) => piece.offset < offset).length

/** The statement of the file that failed, if so many of a part had completed. */
export const failedStatement = (script: MigrationScript, part: number, completed: number): number =>
  statementsBefore(script, script.parts[part]?.offset ?? 0) + completed

/**
 * How many statements of a file stay when statement `index` of part `part` fails; undefined: none, because all were in
 * the transaction of its record.
 */
export const keptBefore = (script: MigrationScript, part: number, index: number): number | undefined => {
  const { inTransaction, parts, pieces } = script
  const ended = pieces.slice(0, index).findLastIndex(closes) + 1
  if (inTransaction && ended === 0) return undefined
  // What one text has begun is undone with it, from its last COMMIT on.
  const begun = Math.max(ended, statementsBefore(script, parts[part]?.offset ?? 0))
  const open = pieces.slice(ended, index).findIndex(opens)
  return open < 0 ? begun : Math.min(begun, ended + open)
}

/** Statements as the command line of Supabase records them: with the comments before them, without the semicolon. */
export const recordedStatements = (text: string): ReadonlyArray<string> => {
  let from = 0
  const texts = statementsIn(text).map((piece) => {
    const end = piece.offset + piece.text.length
    const statement = text.slice(from, end).trim()
    from = text.indexOf(";", end) + 1 || text.length
    return statement
  })
  const rest = text.slice(from).trim()
  return rest === "" ? texts : [...texts, rest]
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
