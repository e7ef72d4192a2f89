import { Effect } from "effect"
import { Conflict, NotFound } from "../../domain/errors.ts"
import { type MigrationFolder, type MigrationStatus } from "../../domain/migrations/Migration.ts"
import { type HistoryPlace } from "../../domain/migrations/History.ts"
import {
  matchNames,
  matchTimes,
  matchVersions,
  type MigrationState,
  migrationStates,
  summaryOf
} from "../../domain/migrations/States.ts"
import { type MigrationFiles } from "../ports/MigrationFiles.ts"
import { type History, type makeMigrationHistories } from "./Histories.ts"

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
export interface MigrationComparison {
  readonly folder: MigrationFolder
  readonly history: History
  readonly states: ReadonlyArray<MigrationState>
}

export const migrationStatusOf = ({ folder, history, states }: MigrationComparison): MigrationStatus => {
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

/** Compares the directory with the history as they are now. */
export const comparisonOf = (
  files: MigrationFiles["Service"],
  histories: Effect.Success<typeof makeMigrationHistories>
) =>
  Effect.gen(function* () {
    const folder = yield* files.folder
    const history = yield* histories.find(folder)
    const match = matches[history.place.keeper] ?? matchNames
    const { attempts, place, rows } = history
    return { folder, history, states: migrationStates(filesFor(place, folder), rows, match, attempts) }
  })

export const migrationNamesOf = (states: ReadonlyArray<MigrationState>) => states.map(({ name }) => name)

export const noMigration = (name: string, { directory }: MigrationFolder) =>
  new NotFound({ error: `No migration ${name.slice(0, 200)} in ${directory}`, code: "MIGRATION_NOT_FOUND" })

/** Fails if the service can't write the history. */
export const refuseTool = ({ place }: History): Effect.Effect<void, Conflict> =>
  place.keeper === "other"
    ? Effect.fail(
        new Conflict({
          error: `${place.tool} keeps the migration history of this database in ${place.schema}.${place.name}, which the service can't write`,
          code: "MIGRATION_TOOL_UNSUPPORTED",
          hint: `Run ${place.tool} itself, or set MIGRATIONS_TOOL=own to keep a separate history`
        })
      )
    : Effect.void

/** Fails if the files and the history contradict each other. */
export const refuseContradiction = (
  { place }: History,
  states: ReadonlyArray<MigrationState>,
  { layout }: MigrationFolder
): Effect.Effect<void, Conflict> => {
  const modified = migrationNamesOf(states.filter(({ status }) => status === "modified"))
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
  const pending = migrationNamesOf(states.filter(({ status }) => status === "pending"))
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
  const unfinished = migrationNamesOf(states.filter(({ blocks }) => blocks))
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
