import { Context, Effect, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import {
  Conflict,
  type Forbidden,
  InvalidRequest,
  NotFound,
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
  type MigrationText
} from "../../domain/migrations/Migration.ts"
import {
  type HistoryEntry,
  type HistoryPlace,
  type MigrationStatement,
  recordOf,
  rolledBack
} from "../../domain/migrations/History.ts"
import { type MigrationScript, migrationScript, recordedStatements } from "../../domain/migrations/Script.ts"
import {
  matchNames,
  matchTimes,
  matchVersions,
  type MigrationState,
  migrationStates,
  summaryOf
} from "../../domain/migrations/States.ts"
import { migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { withAdvisoryLocks } from "../AdvisoryLock.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { Db } from "../ports/Db.ts"
import { MigrationFiles } from "../ports/MigrationFiles.ts"
import { onOwnTables } from "../OwnTables.ts"
import { type History, makeMigrationHistories, onHistory } from "./Histories.ts"
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

/** The files that the tool of the history would consider. */
const filesFor = ({ keeper }: HistoryPlace, folder: MigrationFolder) =>
  folder.files.filter((file) => {
    if (keeper === "drizzle") return file.when !== undefined || (folder.layout === "plain" && !file.folder)
    if (keeper === "supabase") return /^\d+_/.test(file.name) && !file.folder
    return keeper === "other" ? false : keeper === "own" || file.folder
  })

const matches: { readonly [Keeper in HistoryPlace["keeper"]]?: typeof matchNames } = {
  drizzle: matchTimes,
  supabase: matchVersions
}

/** The directory compared with the history. */
interface Comparison {
  readonly folder: MigrationFolder
  readonly history: History
  readonly states: ReadonlyArray<MigrationState>
}

const statusOf = ({ folder, history, states }: Comparison): MigrationStatus => {
  const left = folder.files.length - filesFor(history.place, folder).length
  const out =
    left === 0 || history.place.keeper === "other"
      ? []
      : [`${left} files are ignored, as ${history.place.tool} would ignore them`]
  return {
    tool: history.place.tool,
    table: `${history.place.schema}.${history.place.name}`,
    directory: folder.directory,
    migrations: states.map(({ file: _file, blocks: _blocks, ...migration }) => migration),
    summary: summaryOf(states),
    notes: [...folder.notes, ...history.notes, ...out]
  }
}

/** While a run goes on, what has begun may still finish. */
const asRunning = (state: MigrationState): MigrationState =>
  Object.assign({}, state, state.unfinished ? { unfinished: false, problem: null } : {})

const namesOf = (states: ReadonlyArray<MigrationState>) => states.map(({ name }) => name)

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

      const compare = Effect.gen(function* () {
        const folder = yield* files.folder
        const history = yield* histories.find(folder)
        const match = matches[history.place.keeper] ?? matchNames
        const { attempts, place, rows } = history
        return { folder, history, states: migrationStates(filesFor(place, folder), rows, match, attempts) }
      })

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
      const pendingOf = Effect.fnUntraced(function* ({ folder, history, states }: Comparison) {
        yield* refuseTool(history)
        yield* refuse(history, states, folder)
        const pending = states.flatMap(({ file, status }) => (status === "pending" && file ? [file] : []))
        for (const file of pending) yield* scriptOf(folder, history.place, file)
        return pending
      })

      const apply = Effect.gen(function* () {
        const comparison = yield* compare
        const { folder, history } = comparison
        const ran: Array<string> = []
        const pending = yield* pendingOf(comparison)
        if (pending.length === 0) return { ...statusOf(comparison), ran }
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
        return { ...statusOf(yield* compare), ran }
      })

      /** Only one run is in progress: in this process, in all replicas, and with Prisma. */
      const alone = withAdvisoryLocks(sql, [migrationsLock, prismaLock], { patience: 10_000, pause: 100, busy })

      const run = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.forkIn(Effect.interruptible(alone(apply)), scope), (fiber) => restore(Fiber.join(fiber)))
      )

      const runs = Effect.map(onOwnTables(sql.unsafe(runsSql)), (rows) => rows.length > 0)
      const status = Effect.gen(function* () {
        const comparison = yield* compare
        const { states } = comparison
        if (!states.some(({ unfinished }) => unfinished) || !(yield* runs)) return statusOf(comparison)
        return statusOf({ ...comparison, states: states.map(asRunning) })
      })

      const named = (states: ReadonlyArray<MigrationState>, folder: MigrationFolder, name: string) => {
        const state = states.find((one) => one.name === name)
        return state === undefined ? Effect.fail(noMigration(name, folder)) : Effect.succeed(state)
      }

      /** Marks files in one transaction, and answers with the status after that. */
      const marked = Effect.fnUntraced(function* (
        { folder, history: { place } }: Comparison,
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
        return { ...statusOf(yield* compare), marked: names }
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
          namesOf(pending),
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
          return { ...statusOf(yield* compare), marked: [name] }
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
        preview
      })
    })
  )
}

const noMigration = (name: string, { directory }: MigrationFolder) =>
  new NotFound({ error: `No migration ${name.slice(0, 200)} in ${directory}`, code: "MIGRATION_NOT_FOUND" })

const refuseTool = ({ place }: History): Effect.Effect<void, Conflict> =>
  place.keeper === "other"
    ? Effect.fail(
        new Conflict({
          error: `${place.tool} keeps the migration history of this database in ${place.schema}.${place.name}, which the service can't write`,
          code: "MIGRATION_TOOL_UNSUPPORTED",
          hint: `Run ${place.tool} itself, or set MIGRATIONS_TOOL=own to keep a separate history`
        })
      )
    : Effect.void

const refuse = (
  { place }: History,
  states: ReadonlyArray<MigrationState>,
  { layout }: MigrationFolder
): Effect.Effect<void, Conflict> => {
  const modified = namesOf(states.filter(({ status }) => status === "modified"))
  if (modified.length > 0) {
    return Effect.fail(
      new Conflict({
        error: `Modified after they were applied: ${modified.join(", ")}`,
        code: "MIGRATION_MODIFIED",
        details: modified,
        hint: "Restore the original files, and make the change in a new migration"
      })
    )
  }
  const pending = namesOf(states.filter(({ status }) => status === "pending"))
  if (place.keeper === "drizzle" && layout === "plain" && pending.length > 0) {
    const orphaned = states.filter(({ status }) => status === "orphaned").length
    // A row without a time can only be matched by the content of its file.
    if (orphaned > 0) {
      return Effect.fail(
        new Conflict({
          error: `Without meta/_journal.json it is unknown whether these are new, or were applied and then modified: ${pending.join(", ")}`,
          code: "MIGRATION_MODIFIED",
          details: pending,
          hint: "Add Drizzle's journal to the directory, or restore the original files"
        })
      )
    }
  }
  const unfinished = namesOf(states.filter(({ blocks }) => blocks))
  if (unfinished.length === 0) return Effect.void
  return Effect.fail(
    new Conflict({
      error: `Started and not finished, according to Prisma's history: ${unfinished.join(", ")}`,
      code: "MIGRATION_UNFINISHED",
      details: unfinished,
      hint: "Check the database, and complete or undo what the file began. Then POST /api/migrations/resolve, svc migrations resolve, or prisma migrate resolve"
    })
  )
}
