import { Conflict, type DatabaseError, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type MigrationFile } from "../../domain/migrations/Migration.ts"
import { lineAt, type MigrationScript, noTransaction, offsetOf } from "../../domain/migrations/Script.ts"

/** The errors of a file that fails. */
export type MigrationFailure = Conflict | Unprocessable | Unavailable

/** A position in a file: an offset in UTF-16 units. */
export interface FailedAt {
  readonly file: MigrationFile
  readonly script: MigrationScript
  readonly offset: number | undefined
  /** Statements that stay, because each ran outside a transaction. */
  readonly kept: number | undefined
}

/** SQLSTATEs that a retry may avoid: locks, serialization, a full disk, a statement that took too long. */
const transient = /^(?:40|53|55P03|55006|57014)/

/**
 * The offset at which a file that was sent as a whole failed: PostgreSQL's position, or the statement that was next.
 */
export const offsetInScript = ({ pieces, text }: MigrationScript, { position, statement_index }: DatabaseError) =>
  position === undefined ? pieces[statement_index ?? 0]?.offset : offsetOf(text, position)

/** The offset at which one statement of a file failed. */
export const offsetInPiece = ({ pieces }: MigrationScript, index: number, { position }: DatabaseError) => {
  const piece = pieces[index]
  return piece && piece.offset + (position === undefined ? 0 : offsetOf(piece.text, position))
}

/** 409 when a retry may help, 422 when the file must be changed. `applied`: the files that succeeded before. */
export const migrationFailure = (
  error: DatabaseError | Unavailable,
  at: FailedAt,
  applied: ReadonlyArray<string>
): MigrationFailure => {
  const { file, kept, offset, script } = at
  const migration = { migration: file.name, file: file.path, applied, ...(kept === undefined ? {} : { kept }) }
  if (error._tag === "Unavailable") {
    return new Unavailable({ error: `${file.path}: ${error.error}`, code: error.code, details: migration })
  }
  const line = offset === undefined ? null : lineAt(script.text, offset)
  const given = {
    error: `${file.path}${line === null ? "" : `:${line}`}: ${error.error}`,
    code: "MIGRATION_FAILED",
    details: { ...migration, line, sqlstate: error.code, detail: error.details },
    hint: error.hint ?? hintOf(error, at)
  }
  return transient.test(error.code) ? new Conflict(given) : new Unprocessable(given)
}

const hintOf = ({ code }: DatabaseError, { kept, script }: FailedAt) => {
  if (script.inTransaction && (code === "25001" || code === "55P04")) {
    return `Put "${noTransaction}" on the first line of the file: its statements then run one by one, outside a transaction`
  }
  return kept !== undefined && kept > 0
    ? `The file runs outside a transaction, so its first ${kept} statements stay. Undo them, or make them repeatable, before the next run`
    : null
}
