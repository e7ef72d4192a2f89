import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Conflict, DatabaseError, type Forbidden, Unavailable, Unprocessable } from "../../domain/errors.ts"
import {
  attemptOf,
  type HistoryAttempt,
  type HistoryEntry,
  type HistoryPlace,
  type MigrationStatement,
  recordOf
} from "../../domain/migrations/History.ts"
import { type MigrationFile } from "../../domain/migrations/Migration.ts"
import {
  failedStatement,
  isLonely,
  keptBefore,
  lineAt,
  type MigrationScript,
  noTransaction,
  offsetOf,
  recordedStatements,
  withoutTransaction
} from "../../domain/migrations/Script.ts"
import { Db, type SqlSession, serviceActor } from "../ports/Db.ts"
import { onHistory } from "./Histories.ts"
import { MigrationSettings } from "./Settings.ts"

/** The errors of a file that fails. */
export type MigrationFailure = Conflict | Unprocessable | Unavailable | Forbidden

/** Where a file failed. */
interface FailedAt {
  /** In UTF-16 units. */
  readonly offset: number | undefined
  /** Statements that stay, because they ran outside of the transaction of the record. */
  readonly kept: number | undefined
}

/** SQLSTATEs that a retry may avoid: locks, serialization, a full disk, a statement that took too long. */
const transient = /^(?:40|53|55P03|55006|57014)/
const activeTransaction = "25001"

/** A file to run, and its record in the history. */
export interface MigrationTask {
  readonly file: MigrationFile
  readonly script: MigrationScript
  readonly checksum: string
  readonly place: HistoryPlace
  /** Names of the files that this run has applied before. */
  readonly applied: ReadonlyArray<string>
  /** Fails if the file must not run now; within its transaction, if it has one. What it sets in the session is undone. */
  readonly check?: (session: SqlSession) => Effect.Effect<void, RunRefused>
}

type RunRefused = DatabaseError | Unavailable | Conflict | Unprocessable

/** 409 when a retry may help, 422 when the file must be changed. */
const migrationFailure = (
  error: RunRefused,
  { applied, file, place, script }: MigrationTask,
  { kept, offset }: FailedAt
): MigrationFailure => {
  if (error._tag === "Conflict" || error._tag === "Unprocessable") return error
  const migration = { migration: file.name, file: file.path, applied, ...(kept === undefined ? {} : { kept }) }
  if (error._tag === "Unavailable") {
    return new Unavailable({ error: `${file.path}: ${error.error}`, code: error.code, details: migration })
  }
  const line = offset === undefined ? null : lineAt(script.text, offset)
  const given = {
    error: `${file.path}${line === null ? "" : `:${line}`}: ${error.error}`,
    code: "MIGRATION_FAILED" as const,
    details: { ...migration, line, sqlstate: error.code, detail: error.details },
    hint: error.hint ?? hintOf(error, script, place, kept)
  }
  return transient.test(error.code) ? new Conflict(given) : new Unprocessable(given)
}

const hintOf = (
  { code }: DatabaseError,
  { inTransaction }: MigrationScript,
  { keeper }: HistoryPlace,
  kept: number | undefined
) => {
  if (code === activeTransaction || (inTransaction && code === "55P04")) {
    return keeper === "prisma" || keeper === "drizzle"
      ? "The statement must be alone in its file"
      : `Put "${noTransaction}" on the first line of the file: its statements then run one by one, outside a transaction`
  }
  if (keeper === "prisma") {
    return "Prisma's history records the failure. Undo what is applied and resolve it as rolled_back, or complete it and resolve it as applied (POST /api/migrations/resolve)"
  }
  return kept !== undefined && kept > 0
    ? `The file runs outside a transaction, so its first ${kept} statements stay. Undo them, or make them repeatable, before the next run`
    : null
}

/** How long a file may wait for a table, in ms; other clients' queries queue behind it meanwhile. */
const lockMillis = "10000"
/** Waits for the transactions of all others, so it takes as long as they do. */
const patient = /\bconcurrently\b/i

const settingsSql = `select pg_catalog.set_config('statement_timeout', $1, $3::bool),
  pg_catalog.set_config('lock_timeout', $2, $3::bool)`
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

/** Characters of an error that a history keeps. */
const maxError = 2000

/** Runs migration files, each as the tool of its history does. */
export const makeMigrationRunner = Effect.gen(function* () {
  const db = yield* Db
  const sql = yield* SqlClient.SqlClient
  const { timeout } = yield* MigrationSettings

  const prepare = (session: SqlSession, lockTimeout: string, local: boolean) =>
    session.query(settingsSql, [String(timeout), lockTimeout, String(local)], 1)

  /** Sends the parts of a file, and notes where one fails. */
  const send = Effect.fnUntraced(function* (session: SqlSession, script: MigrationScript, at: Where) {
    for (const [n, part] of script.parts.entries()) {
      yield* Effect.tapError(session.script(part.text), (error) =>
        Effect.sync(() => {
          if (error._tag !== "DatabaseError") return
          const index = failedStatement(script, n, error.statement_index ?? 0)
          const { position } = error
          at.offset =
            position === undefined ? script.pieces[index]?.offset : part.offset + offsetOf(part.text, position)
          at.kept = keptBefore(script, n, index)
        })
      )
    }
    at.kept = script.inTransaction && !script.controls ? undefined : script.pieces.length
  })

  const entryOf = ({ checksum, file, script }: MigrationTask): HistoryEntry => ({
    file,
    checksum,
    statements: recordedStatements(script.text)
  })

  const inOne = Effect.fnUntraced(function* (session: SqlSession, task: MigrationTask, at: Where) {
    const number = Effect.map(session.query(transactionSql, [], 1), ({ rows }) => rows[0]?.[0])
    yield* session.query("begin", [], 1)
    yield* prepare(session, lockMillis, true)
    if (task.check !== undefined) {
      yield* session.query("savepoint svc_check", [], 1)
      yield* task.check(session)
      yield* session.query("rollback to savepoint svc_check", [], 1)
    }
    const before = yield* number
    yield* send(session, task.script, at)
    if (!task.script.controls && (yield* number) !== before) {
      return yield* new DatabaseError({
        error: "The file ended its own transaction; its statements before that are committed",
        code: invalidTransactionState,
        status: 422
      })
    }
    for (const text of asLogin) yield* session.query(text, [], 1)
    const { params, text } = recordOf(task.place, entryOf(task))
    yield* session.query(text, params, 1)
    // The commit is uninterruptible, because its outcome must be known.
    const end = yield* Effect.uninterruptible(session.query("commit", [], 1))
    if (end.command === "COMMIT") return undefined
    return yield* new DatabaseError({
      error: "PostgreSQL rolled the transaction back",
      code: "40000",
      status: 409
    })
  })

  const write = ({ place }: MigrationTask, statements: ReadonlyArray<MigrationStatement>) =>
    onHistory(
      place,
      sql.withTransaction(Effect.forEach(statements, ({ params, text }) => sql.unsafe(text, params), { discard: true }))
    )

  const session = db.main.session(serviceActor)
  const sqlStateIs = (error: RunRefused, code: string) => error._tag === "DatabaseError" && error.code === code

  const failed = (task: MigrationTask, at: Where) =>
    Effect.mapError((error: RunRefused) => migrationFailure(error, task, at))

  /**
   * Runs a file of which a part may stay when it fails: the attempt is recorded before it begins, and how it ended after.
   * `finish`: what is still to be recorded then.
   */
  const attempted = (
    task: MigrationTask,
    at: Where,
    use: (session: SqlSession) => Effect.Effect<void, RunRefused>,
    finish: (attempt: HistoryAttempt) => ReadonlyArray<MigrationStatement>
  ) => {
    const attempt = attemptOf(task.place, entryOf(task), randomUUID())
    return write(task, [attempt.begin]).pipe(
      Effect.andThen(Effect.scoped(Effect.flatMap(session, use)).pipe(failed(task, at))),
      Effect.onError((cause) => {
        const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
        const text = (failure?.error ?? "the service ended while it ran").slice(0, maxError)
        return write(task, [attempt.fail(text, at.kept)]).pipe(Effect.timeout("5 seconds"), Effect.ignore)
      }),
      Effect.andThen(Effect.uninterruptible(write(task, finish(attempt))))
    )
  }

  const outside = (task: MigrationTask, at: Where) => {
    const { parts, text } = task.script
    const wait = parts.length > 1 || patient.test(text) ? "0" : lockMillis
    const check = (session: SqlSession) =>
      task.check === undefined
        ? Effect.void
        : session
            .query("begin", [], 1)
            .pipe(Effect.andThen(task.check(session)), Effect.andThen(session.query("rollback", [], 1)))
    const use = (session: SqlSession) =>
      check(session).pipe(Effect.andThen(prepare(session, wait, false)), Effect.andThen(send(session, task.script, at)))
    return attempted(task, at, use, ({ finish }) => finish)
  }

  /** Runs one file as the service role, and records it. */
  const run = Effect.fn("MigrationRunner.run")(function* (task: MigrationTask) {
    const at: Where = { offset: undefined, kept: undefined }
    const { script } = task
    if (!script.inTransaction) return yield* outside(task, at)
    // The record is written with the file, but Drizzle's history has no place for a failure.
    if (script.controls) {
      return yield* attempted(
        task,
        at,
        (session) => inOne(session, task, at),
        ({ finish }) => finish.slice(0, 1)
      )
    }
    const one = Effect.scoped(Effect.flatMap(session, (session) => inOne(session, task, at)))
    // PostgreSQL says so before it does anything, and nothing else is in the file.
    const lone = isLonely(script) && task.place.keeper !== "drizzle"
    return yield* Effect.catchIf(
      one,
      (error) => lone && sqlStateIs(error, activeTransaction),
      () => Effect.succeed("alone" as const)
    ).pipe(
      failed(task, at),
      Effect.flatMap((outcome) =>
        outcome === "alone" ? outside({ ...task, script: withoutTransaction(script) }, at) : Effect.void
      )
    )
  })

  return { run }
})

/** How far a file has come, for the report of a failure. */
type Where = { -readonly [K in keyof FailedAt]: FailedAt[K] }
