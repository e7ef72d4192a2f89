import { Clock, Effect } from "effect"
import { Conflict, type DatabaseError, type Forbidden, type Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type MigrationFile, type MigrationFolder, type NewMigration } from "../../domain/migrations/Migration.ts"
import { type HistoryPlace } from "../../domain/migrations/History.ts"
import { newMigrationFiles, type NewMigrationFile } from "../../domain/migrations/NewFiles.ts"
import { type MigrationScript } from "../../domain/migrations/Script.ts"
import { type MigrationFiles } from "../ports/MigrationFiles.ts"
import { type SqlSession } from "../ports/Db.ts"
import {
  type MigrationComparison,
  migrationNamesOf,
  migrationStatusOf,
  refuseContradiction,
  refuseTool
} from "./Comparison.ts"
import { type makeMigrationHistories } from "./Histories.ts"
import { type makeMigrationRunner } from "./Runner.ts"

/** Fails if a new migration must not run now. */
export type MigrationCheck = (
  session: SqlSession
) => Effect.Effect<void, Conflict | Unprocessable | DatabaseError | Unavailable>

interface AdditionTools<E> {
  readonly files: MigrationFiles["Service"]
  readonly histories: Effect.Success<typeof makeMigrationHistories>
  readonly runner: Effect.Success<typeof makeMigrationRunner>
  readonly compare: Effect.Effect<MigrationComparison, E>
  readonly scriptOf: (
    folder: MigrationFolder,
    place: HistoryPlace,
    file: MigrationFile
  ) => Effect.Effect<{ readonly script: MigrationScript; readonly checksum: string }, Unprocessable>
}

const layoutRefused = new Conflict({
  error: "Drizzle writes its migrations and their journal itself",
  code: "MIGRATION_LAYOUT",
  hint: "Run drizzle-kit generate --custom, and put the SQL into its file"
})

const pendingRefused = (names: ReadonlyArray<string>) =>
  new Conflict({
    error: `Migrations are pending, which come before a new one: ${names.join(", ")}`,
    code: "MIGRATIONS_PENDING",
    details: names,
    hint: "Run them first (POST /api/migrations/idempotent/run), and compare again"
  })

const notAtomic = (path: string) =>
  new Unprocessable({
    error: `${path} does not run in one transaction`,
    code: "MIGRATION_NOT_ATOMIC",
    hint: "Remove BEGIN, COMMIT and the line that asks for no transaction; or save it, and run the pending migrations"
  })

/** Adds files to MIGRATIONS_DIR. The caller holds the lock of runs. */
export const makeMigrationAdditions = <E extends Conflict | Unprocessable | Forbidden | Unavailable>({
  compare,
  files,
  histories,
  runner,
  scriptOf
}: AdditionTools<E>) => {
  const made = Effect.fnUntraced(function* ({ folder, history, states }: MigrationComparison, given: NewMigration) {
    yield* refuseTool(history)
    yield* refuseContradiction(history, states, folder)
    const millis = yield* Clock.currentTimeMillis
    const added = newMigrationFiles(folder, history.place.keeper, { ...given, millis })
    return added ?? (yield* layoutRefused)
  })

  const add = Effect.fn("Migrations.add")(function* (given: NewMigration) {
    const added = yield* made(yield* compare, given)
    yield* files.write(added)
    return { ...migrationStatusOf(yield* compare), saved: added.map(({ name }) => name) }
  })

  /** Runs files that were written, and removes those that are not applied when one fails. */
  const runWritten = Effect.fnUntraced(function* (added: ReadonlyArray<NewMigrationFile>, check: MigrationCheck) {
    const applied: Array<string> = []
    const run = Effect.gen(function* () {
      const { folder, history } = yield* compare
      const tasks = yield* Effect.forEach(added, ({ name }) =>
        Effect.gen(function* () {
          const file = folder.files.find((one) => one.name === name)
          if (file === undefined) return yield* Effect.die(new Error(`${name} is not in the directory`))
          const made = yield* scriptOf(folder, history.place, file)
          const { controls, inTransaction } = made.script
          if (controls || (!inTransaction && history.place.keeper !== "prisma")) return yield* notAtomic(file.path)
          return { ...made, file, place: history.place }
        })
      )
      yield* histories.make(history.place)
      for (const task of tasks) {
        const checked = applied.length === 0 ? { check } : {}
        yield* runner.run({ ...task, ...checked, applied: [...applied] })
        applied.push(task.file.name)
      }
    })
    yield* Effect.onError(run, () => files.remove(added.filter(({ name }) => !applied.includes(name))))
    return applied
  })

  const addAndRun = Effect.fn("Migrations.addAndRun")(function* (given: NewMigration, check: MigrationCheck) {
    const comparison = yield* compare
    const added = yield* made(comparison, given)
    const pending = migrationNamesOf(comparison.states.filter(({ status }) => status === "pending"))
    if (pending.length > 0) return yield* pendingRefused(pending)
    yield* files.write(added)
    const ran = yield* runWritten(added, check)
    return { ...migrationStatusOf(yield* compare), ran }
  })

  return { add, addAndRun }
}
