import { Effect } from "effect"
import { Conflict, DatabaseError, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type HistoryPlace, recordOf } from "../../domain/migrations/History.ts"
import { type MigrationFile } from "../../domain/migrations/Migration.ts"
import { type MigrationScript, keptBefore, lineAt, noTransaction, offsetOf } from "../../domain/migrations/Script.ts"
import { Db, type SqlSession, serviceActor } from "../ports/Db.ts"
import { MigrationSettings } from "./Settings.ts"

/** The errors of a file that fails. */
export type MigrationFailure = Conflict | Unprocessable | Unavailable

/** A position in a file: an offset in UTF-16 units. */
interface FailedAt {
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
const offsetInScript = ({ pieces, text }: MigrationScript, { position, statement_index }: DatabaseError) =>
  position === undefined ? pieces[statement_index ?? 0]?.offset : offsetOf(text, position)

/** The offset at which one statement of a file failed. */
const offsetInPiece = ({ pieces }: MigrationScript, index: number, { position }: DatabaseError) => {
  const piece = pieces[index]
  return piece && piece.offset + (position === undefined ? 0 : offsetOf(piece.text, position))
}

/** 409 when a retry may help, 422 when the file must be changed. `applied`: the files that succeeded before. */
const migrationFailure = (
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
    code: "MIGRATION_FAILED" as const,
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

/** A file to run, and its record in the history. */
export interface MigrationTask {
  readonly file: MigrationFile
  readonly script: MigrationScript
  readonly checksum: string
  readonly place: HistoryPlace
  /** Names of the files that this run has applied before. */
  readonly applied: ReadonlyArray<string>
}

/** How long a file may wait for a table, in ms; other clients' queries queue behind it meanwhile. */
const lockMillis = "10000"

const settingsSql = `select pg_catalog.set_config('statement_timeout', $1, $3::bool),
  pg_catalog.set_config('lock_timeout', $2, $3::bool), pg_catalog.clock_timestamp()::text`
/** SQLSTATE. */
const invalidTransactionState = "25000"
const transactionSql = "select pg_catalog.pg_current_xact_id()::text"
/**
 * The history is written as the service's login, whatever the file has set. Deferred triggers run before that, as the
 * file's role.
 */
const asLogin = [
  "set constraints all immediate",
  "set session authorization default",
  "set role none",
  "set search_path = pg_catalog"
]

/** Runs migration files, each recorded in the same transaction. */
export const makeMigrationRunner = Effect.gen(function* () {
  const db = yield* Db
  const { timeout } = yield* MigrationSettings

  const prepare = (session: SqlSession, lockTimeout: string, local: boolean) =>
    Effect.map(
      session.query(settingsSql, [String(timeout), lockTimeout, String(local)], 1),
      ({ rows }) => rows[0]?.[2] ?? ""
    )

  const record = Effect.fnUntraced(function* (session: SqlSession, task: MigrationTask, started: string) {
    for (const text of asLogin) yield* session.query(text, [], 1)
    const { params, text } = recordOf(task.place, task.file, task.checksum, started)
    yield* session.query(text, params, 1)
  })

  const inOne = Effect.fnUntraced(function* (session: SqlSession, task: MigrationTask, at: Where) {
    const number = Effect.map(session.query(transactionSql, [], 1), ({ rows }) => rows[0]?.[0])
    yield* session.query("begin", [], 1)
    const started = yield* prepare(session, lockMillis, true)
    const before = yield* number
    yield* Effect.tapError(session.script(task.script.text), (error) =>
      Effect.sync(() => {
        if (error._tag === "DatabaseError") at.offset = offsetInScript(task.script, error)
      })
    )
    if ((yield* number) !== before) {
      return yield* new DatabaseError({
        error: "The file ended its own transaction; its statements before that are committed",
        code: invalidTransactionState,
        status: 422
      })
    }
    yield* record(session, task, started)
    // The commit is uninterruptible, because its outcome must be known.
    const end = yield* Effect.uninterruptible(session.query("commit", [], 1))
    if (end.command === "COMMIT") return undefined
    return yield* new DatabaseError({
      error: "PostgreSQL rolled the transaction back",
      code: "40000",
      status: 409
    })
  })

  const oneByOne = Effect.fnUntraced(function* (session: SqlSession, task: MigrationTask, at: Where) {
    const started = yield* prepare(session, "0", false)
    for (const [i, piece] of task.script.pieces.entries()) {
      at.kept = keptBefore(task.script, i)
      yield* Effect.tapError(session.script(piece.text), (error) =>
        Effect.sync(() => {
          if (error._tag === "DatabaseError") at.offset = offsetInPiece(task.script, i, error)
        })
      )
    }
    at.kept = task.script.pieces.length
    yield* record(session, task, started)
  })

  /**
   * Runs one file as the service role. A file may ask to run statement by statement, outside a transaction; when it
   * fails halfway, the statements before stay.
   */
  const run = Effect.fn("MigrationRunner.run")(function* (task: MigrationTask) {
    const at: Where = { offset: undefined, kept: undefined }
    const { file, script } = task
    yield* Effect.scoped(
      Effect.flatMap(db.main.session(serviceActor), (session) =>
        script.inTransaction ? inOne(session, task, at) : oneByOne(session, task, at)
      )
    ).pipe(
      Effect.mapError((error: DatabaseError | Unavailable) =>
        migrationFailure(error, { file, script, ...at }, task.applied)
      )
    )
  })

  return { run }
})

/** How far a file has come, for the report of a failure. */
type Where = { -readonly [K in "offset" | "kept"]: FailedAt[K] }
