import { Context, Effect, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import {
  Conflict,
  type Forbidden,
  InvalidRequest,
  type NotFound,
  type Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import {
  type MigrationFile,
  type MigrationFolder,
  type MigrationMark,
  type MigrationResolution,
  type MigrationRun,
  type MigrationStatus,
  type MigrationText,
  type NewMigration,
  type SavedMigration
} from "../../domain/migrations/Migration.ts"
import {
  type HistoryEntry,
  type HistoryPlace,
  type MigrationStatement,
  recordOf,
  rolledBack
} from "../../domain/migrations/History.ts"
import { type MigrationScript, migrationScript, recordedStatements } from "../../domain/migrations/Script.ts"
import { type MigrationState } from "../../domain/migrations/States.ts"
import { migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { withAdvisoryLocks } from "../AdvisoryLock.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { Db } from "../ports/Db.ts"
import { MigrationFiles } from "../ports/MigrationFiles.ts"
import { onOwnTables } from "../OwnTables.ts"
import {
  type MigrationComparison,
  comparisonOf,
  migrationNamesOf,
  noMigration,
  refuseContradiction,
  refuseTool,
  migrationStatusOf
} from "./Comparison.ts"
import { makeMigrationAdditions, type MigrationCheck } from "./Additions.ts"
import { makeMigrationHistories, onHistory } from "./Histories.ts"
import { type MigrationFailure, makeMigrationRunner } from "./Runner.ts"

type Refused = Conflict | Unprocessable | Forbidden | Unavailable

/** The lock that Prisma's `migrate` commands hold. */
const prismaLock = "72707369"

/** Whether a run goes on, which may not have finished what it started. */
const runsSql = `select from pg_locks where locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_database where datname = current_database())
  and (classid::int8 << 32) | objid::int8 = ${migrationsLock}`

const busy = new Conflict({
  error: "Another migration run is in progress",
  code: "MIGRATIONS_BUSY",
  hint: "Check the status, and try again when that run has ended"
})

/** While a run goes on, what has begun may still finish. */
const asRunning = (state: MigrationState): MigrationState =>
  Object.assign({}, state, state.unfinished ? { unfinished: false, problem: null } : {})

/** The user's migration files, and which of them were applied to the database (spec: migrations). */
export class Migrations extends Context.Service<
  Migrations,
  {
    readonly status: Effect.Effect<MigrationStatus, Refused>
    /**
     * Runs the pending files in order, each as the tool of the history would. Continues when the caller leaves. 409: another
     * run, a modified file, an unsupported tool. `MIGRATION_FAILED`: see `migrationFailure`.
     */
    readonly run: Effect.Effect<MigrationRun, Refused | MigrationFailure>
    /**
     * Marks pending files as applied, up to the given one, without running them: the database has what they make. 404
     * `MIGRATION_NOT_FOUND`, 409 `MIGRATION_APPLIED` if that one is.
     */
    readonly baseline: (through: string) => Effect.Effect<MigrationMark, Refused | NotFound>
    /** Ends a failed attempt. 404 `MIGRATION_NOT_FOUND`, 409 `MIGRATION_NOT_FAILED`. */
    readonly resolve: (resolution: MigrationResolution) => Effect.Effect<MigrationMark, Refused | NotFound>
    /**
     * Writes a new file, or several, after all others. 409 `MIGRATION_LAYOUT` for a tool that writes its files itself, 422
     * `MIGRATION_NOT_WRITABLE`.
     */
    readonly add: (given: NewMigration) => Effect.Effect<SavedMigration, Refused>
    /**
     * The same, and runs them if `check` succeeds; what is not applied is removed again. Continues when the caller leaves. 409
     * `MIGRATIONS_PENDING` if there are others to run.
     */
    readonly addAndRun: (
      given: NewMigration,
      check: MigrationCheck
    ) => Effect.Effect<MigrationRun, Refused | MigrationFailure>
    /** The text of a file. 400 `MIGRATION_NAME` for an invalid name, 404 `MIGRATION_NOT_FOUND`. */
    readonly preview: (name: string) => Effect.Effect<MigrationText, InvalidRequest | NotFound | Unprocessable>
  }
>()("svc/services/Migrations") {
  static readonly layer = Layer.effect(
    Migrations,
    Effect.gen(function* () {
      const files = yield* MigrationFiles
      const histories = yield* makeMigrationHistories
      const runner = yield* makeMigrationRunner
      const sql = yield* SqlClient.SqlClient
      const catalogues = yield* Catalogues
      const db = yield* Db
      const scope = yield* Scope.Scope

      const compare = comparisonOf(files, histories)
      const scriptOf = Effect.fnUntraced(function* (
        folder: MigrationFolder,
        { keeper }: HistoryPlace,
        file: MigrationFile
      ) {
        const { checksum, sql } = yield* files.text(folder, file)
        const script = migrationScript(sql, keeper, folder.layout.startsWith("drizzle") || keeper === "drizzle")
        if (!("problem" in script)) return { script, checksum }
        const { hint, line, problem } = script
        return yield* new Unprocessable({
          error: `${file.path}:${line}: ${problem}`,
          code: "MIGRATION_NOT_RUNNABLE",
          details: { migration: file.name, file: file.path, line },
          hint
        })
      })

      /** Finds every file that can't be run before the first one is run. */
      const pendingOf = Effect.fnUntraced(function* ({ folder, history, states }: MigrationComparison) {
        yield* refuseTool(history)
        yield* refuseContradiction(history, states, folder)
        const pending = states.flatMap(({ file, status }) => (status === "pending" && file ? [file] : []))
        for (const file of pending) yield* scriptOf(folder, history.place, file)
        return pending
      })

      const apply = Effect.gen(function* () {
        const comparison = yield* compare
        const { folder, history } = comparison
        const ran: Array<string> = []
        const pending = yield* pendingOf(comparison)
        if (pending.length === 0) return { ...migrationStatusOf(comparison), ran }
        yield* histories.make(history.place)
        const each = Effect.forEach(
          pending,
          (file) =>
            Effect.gen(function* () {
              const made: { script: MigrationScript; checksum: string } = yield* scriptOf(folder, history.place, file)
              yield* runner.run({ ...made, file, place: history.place, applied: Array.from(ran) })
              ran.push(file.name)
            }),
          { discard: true }
        )
        yield* Effect.ensuring(each, catalogues.changed(db.main))
        yield* Effect.logInfo(`Migrations applied: ${ran.length}, the last one ${ran.at(-1)}`)
        return { ...migrationStatusOf(yield* compare), ran }
      })

      /** Only one run is in progress: in this process, in all replicas, and with Prisma. */
      const alone = withAdvisoryLocks(sql, [migrationsLock, prismaLock], { patience: 10_000, pause: 100, busy })

      /** Continues when the caller leaves. */
      const inScope = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(Effect.forkIn(Effect.interruptible(alone(effect)), scope), (fiber) =>
            restore(Fiber.join(fiber))
          )
        )
      const run = inScope(apply)
      const additions = makeMigrationAdditions({ compare, files, histories, runner, scriptOf })

      const runs = Effect.map(onOwnTables(sql.unsafe(runsSql)), (rows) => rows.length > 0)
      const status = Effect.gen(function* () {
        const comparison = yield* compare
        const { states } = comparison
        if (!states.some(({ unfinished }) => unfinished) || !(yield* runs)) return migrationStatusOf(comparison)
        return migrationStatusOf({ ...comparison, states: states.map(asRunning) })
      })

      const named = (states: ReadonlyArray<MigrationState>, folder: MigrationFolder, name: string) => {
        const state = states.find((one) => one.name === name)
        return state === undefined ? Effect.fail(noMigration(name, folder)) : Effect.succeed(state)
      }

      /** Marks files in one transaction, and answers with the status after that. */
      const marked = Effect.fnUntraced(function* (
        { folder, history: { place } }: MigrationComparison,
        names: ReadonlyArray<string>,
        statementsOf: (file: MigrationFile, entry: HistoryEntry) => ReadonlyArray<MigrationStatement>,
        chosen: ReadonlyArray<MigrationFile>
      ) {
        const statements: Array<MigrationStatement> = []
        for (const file of chosen) {
          const { checksum, sql: text } = yield* files.text(folder, file)
          statements.push(...statementsOf(file, { file, checksum, statements: recordedStatements(text) }))
        }
        yield* histories.make(place)
        yield* onHistory(
          place,
          sql.withTransaction(
            Effect.forEach(statements, ({ params, text }) => sql.unsafe(text, params), { discard: true })
          )
        )
        return { ...migrationStatusOf(yield* compare), marked: names }
      })

      const baseline = Effect.fn("Migrations.baseline")(function* (through: string) {
        const comparison = yield* compare
        const { folder, history, states } = comparison
        yield* refuseTool(history)
        const last = yield* named(states, folder, through)
        if (last.status !== "pending") {
          return yield* new Conflict({
            error: `The migration ${through} is ${last.status}, not pending`,
            code: "MIGRATION_APPLIED",
            hint: "Name the last pending migration that the database has already"
          })
        }
        const pending = states.slice(0, states.indexOf(last) + 1).filter(({ status }) => status === "pending")
        return yield* marked(
          comparison,
          migrationNamesOf(pending),
          (file, entry) => [rolledBack(history.place, file.name), recordOf(history.place, entry)],
          pending.flatMap(({ file }) => (file === undefined ? [] : [file]))
        )
      })

      const resolve = Effect.fn("Migrations.resolve")(function* ({ as, name }: MigrationResolution) {
        const comparison = yield* compare
        const { folder, history, states } = comparison
        const { file, unfinished } = yield* named(states, folder, name)
        if (!unfinished) {
          return yield* new Conflict({
            error: `The migration ${name} has not failed`,
            code: "MIGRATION_NOT_FAILED",
            hint: "To mark a migration as applied that was never run, use the baseline"
          })
        }
        // A file that is gone can't be applied any more.
        if (file === undefined && as === "applied") return yield* noMigration(name, folder)
        const undo = rolledBack(history.place, name)
        if (file === undefined) {
          yield* onHistory(history.place, sql.unsafe(undo.text, undo.params))
          return { ...migrationStatusOf(yield* compare), marked: [name] }
        }
        return yield* marked(
          comparison,
          [name],
          (_file, entry) => (as === "applied" ? [undo, recordOf(history.place, entry)] : [undo]),
          [file]
        )
      })

      const preview = Effect.fn("Migrations.preview")(function* (name: string) {
        if (name === "." || name === ".." || /[/\\\p{Cc}]/u.test(name)) {
          return yield* new InvalidRequest({ error: "The migration name is invalid", code: "MIGRATION_NAME" })
        }
        const folder = yield* files.folder
        const called = (wanted: string) => folder.files.find((file) => file.name === wanted)
        const file = called(name) ?? (name.endsWith(".sql") ? called(name.slice(0, -4)) : undefined)
        if (file === undefined || file.missing) return yield* noMigration(name, folder)
        const { sql } = yield* files.text(folder, file)
        return { name: file.name, sql }
      })

      return Migrations.of({
        status,
        run,
        baseline: (through) => alone(baseline(through)),
        resolve: (resolution) => alone(resolve(resolution)),
        add: (given) => alone(additions.add(given)),
        addAndRun: (given, check) =>
          inScope(Effect.ensuring(additions.addAndRun(given, check), catalogues.changed(db.main))),
        preview
      })
    })
  )
}
