import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Conflict, Forbidden } from "../../domain/errors.ts"
import { AppliedMigration, MigrationAttempt, type MigrationFolder } from "../../domain/migrations/Migration.ts"
import {
  attemptsKey,
  type HistoryPlace,
  makeHistory,
  newPlace,
  ownPlace,
  placeOfTable,
  readAttempts,
  readHistory
} from "../../domain/migrations/History.ts"
import { HistoryTable, historyTableNames, recognise, type RecognisedTable } from "../../domain/migrations/Tools.ts"
import { MigrationSettings } from "./Settings.ts"
import { onOwnTables, type OwnTablesFailure, queryRows } from "../OwnTables.ts"

const tablesSql = `select n.nspname::text as schema, c.relname::text as name,
    (select json_agg(attname order by attnum) from pg_attribute
     where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('svc', 'svc_ddl') and n.nspname !~ '^pg_'
    and (c.relname::text in (select json_array_elements_text($1::text::json))
      or c.relname = 'ar_internal_metadata'
      or exists (select from pg_attribute where attrelid = c.oid and attname = 'hash' and not attisdropped)
        and c.relname ~* 'migration')
  order by n.nspname <> 'drizzle', n.nspname <> 'public', n.nspname, c.relname`

/** The migration history of a database. */
export interface History {
  readonly place: HistoryPlace
  readonly rows: ReadonlyArray<AppliedMigration>
  /** What failed or never finished outside of a transaction; nothing while a run goes on. */
  readonly attempts: ReadonlyArray<MigrationAttempt>
  readonly notes: ReadonlyArray<string>
}

const shown = ({ name, schema }: HistoryTable) => `${schema}.${name}`

/** A missing privilege is for the administrator to grant. */
export const onHistory = <A>({ name, schema }: HistoryPlace, effect: Effect.Effect<A, OwnTablesFailure>) =>
  onOwnTables(effect, {
    "42501": (message: string) =>
      new Forbidden({
        error: `The service's database login has no access to ${schema}.${name}`,
        code: "MIGRATION_TABLE_CLOSED",
        details: message || null,
        hint: "Grant it SELECT and INSERT on the table and USAGE on its sequence, or make it a member of the owner"
      })
  })

/** Finds out which tool keeps the history of the database's migrations, and reads that history. */
export const makeMigrationHistories = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* MigrationSettings

  const tables = Effect.map(
    onOwnTables(queryRows(sql, HistoryTable)(tablesSql, [JSON.stringify(historyTableNames)])),
    recognise
  )
  const ownRows = Effect.map(
    onOwnTables(sql.unsafe(`select from svc.applied_migrations limit 1`)),
    (rows) => rows.length > 0
  )

  const choose = Effect.fnUntraced(function* (folder: MigrationFolder, found: ReadonlyArray<RecognisedTable>) {
    const wanted = settings.tool === "auto" ? undefined : settings.tool
    if (wanted === "own") return ownPlace
    const layoutTool = folder.layout === "plain" ? undefined : folder.layout === "prisma" ? "prisma" : "drizzle"
    const tool = wanted ?? layoutTool
    const ours = found.filter((table) => table.tool === "drizzle" || table.tool === "prisma")
    const fits = ours.find((table) => table.tool === tool)
    if (fits !== undefined) return placeOfTable(fits)
    if (wanted !== undefined) return newPlace(wanted, folder)
    if (layoutTool === undefined && (yield* ownRows)) return ownPlace
    const tools = Array.from(
      new Set([...ours.map((table) => table.tool), ...(layoutTool === undefined ? [] : [layoutTool])])
    )
    if (ours.length > 0 && tools.length > 1) {
      const files = layoutTool === undefined ? "" : `, and the files are ${layoutTool}'s`
      return yield* new Conflict({
        error: `The migration tool is ambiguous: the database has a history of ${ours.map((table) => table.tool).join(" and of ")}${files}`,
        code: "MIGRATION_TOOL_UNCLEAR",
        details: ours.map(shown),
        hint: "Set MIGRATIONS_TOOL"
      })
    }
    const [only] = ours
    if (only !== undefined) return placeOfTable(only)
    if (yield* ownRows) return ownPlace
    if (layoutTool !== undefined) return newPlace(layoutTool, folder)
    const [other] = found
    return other === undefined ? ownPlace : placeOfTable(other)
  })

  /** 409 `MIGRATION_TOOL_UNCLEAR` when the directory fits two tools. */
  const find = Effect.fn("MigrationHistories.find")(function* (folder: MigrationFolder) {
    const found = yield* tables
    const place = yield* choose(folder, found)
    const notes = found
      .filter((table) => shown(table) !== shown({ ...place, columns: [] }))
      .map((table) => `${shown(table)} is a history of ${table.tool}; it is not used`)
    if (place.keeper === "other") {
      const tool = place.tool ?? ""
      notes.unshift(
        `${place.schema}.${place.name} is a history of ${tool}: run ${tool} itself, or set MIGRATIONS_TOOL=own`
      )
      return { place, rows: [], attempts: [], notes }
    }
    if (!place.exists) return { place, rows: [], attempts: [], notes }
    const rows = yield* onHistory(place, queryRows(sql, AppliedMigration)(readHistory(place)))
    const attempts = yield* onOwnTables(queryRows(sql, MigrationAttempt)(readAttempts, [attemptsKey(place)]))
    return { place, rows, attempts, notes }
  })

  /** Creates the table if it does not exist. */
  const make = Effect.fn("MigrationHistories.make")(function* (place: HistoryPlace) {
    if (place.exists) return
    yield* onHistory(
      place,
      sql.withTransaction(Effect.forEach(makeHistory(place), (text) => sql.unsafe(text), { discard: true }))
    )
  })

  return { find, make }
})
