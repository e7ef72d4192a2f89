import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Conflict, Forbidden, type Unavailable } from "../../domain/errors.ts"
import { type AppliedMigration, type MigrationFolder } from "../../domain/migrations/Migration.ts"
import {
  appliedOf,
  type HistoryPlace,
  makeHistory,
  newPlace,
  ownPlace,
  placeOfTable,
  readHistory
} from "../../domain/migrations/History.ts"
import { type HistoryTable, historyTableNames, recognise, type RecognisedTable } from "../../domain/migrations/Tools.ts"
import { MigrationSettings } from "./Settings.ts"
import { onOwnTables } from "../OwnTables.ts"

const tablesSql = `select n.nspname::text as schema, c.relname::text as name,
    (select json_agg(attname order by attnum)::text from pg_attribute
     where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname <> 'svc' and n.nspname !~ '^pg_'
    and (c.relname::text in (select json_array_elements_text($1::text::json))
      or c.relname = 'ar_internal_metadata'
      or exists (select from pg_attribute where attrelid = c.oid and attname = 'hash' and not attisdropped)
        and c.relname ~* 'migration')
  order by n.nspname <> 'drizzle', n.nspname <> 'public', n.nspname, c.relname`

/** The history of a database and what is written there. */
export interface History {
  readonly place: HistoryPlace
  readonly rows: ReadonlyArray<AppliedMigration>
  readonly notes: ReadonlyArray<string>
}

const shown = ({ name, schema }: HistoryTable) => `${schema}.${name}`

/** A missing privilege is for the administrator to grant. */
const onHistory = <A>({ name, schema }: HistoryPlace, effect: Effect.Effect<A, SqlError.SqlError>) =>
  onOwnTables(effect, {
    "42501": (message: string) =>
      new Forbidden({
        error: `The service's database login may not use ${schema}.${name}`,
        code: "MIGRATION_TABLE_CLOSED",
        details: message || null,
        hint: "Grant it SELECT and INSERT on the table and USAGE on its sequence, or make it a member of the owner"
      })
  })

/** Finds out which tool keeps track of the database's migrations, and reads what it knows. */
export class MigrationHistories extends Context.Service<
  MigrationHistories,
  {
    /** 409 `MIGRATION_TOOL_UNCLEAR` when two tools do. */
    readonly find: (folder: MigrationFolder) => Effect.Effect<History, Conflict | Forbidden | Unavailable>
    /** The table, if it is not there yet. */
    readonly make: (place: HistoryPlace) => Effect.Effect<void, Forbidden | Unavailable>
  }
>()("svc/services/MigrationHistories") {
  static readonly layer = Layer.effect(
    MigrationHistories,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* MigrationSettings

      const tables = onOwnTables(
        sql.unsafe<{ readonly schema: string; readonly name: string; readonly columns: string }>(tablesSql, [
          JSON.stringify(historyTableNames)
        ])
      ).pipe(
        Effect.map((rows) =>
          recognise(rows.map((row) => ({ ...row, columns: JSON.parse(row.columns) as ReadonlyArray<string> })))
        )
      )
      const ownRows = Effect.map(
        onOwnTables(sql.unsafe(`select from svc.applied_migrations limit 1`)),
        (rows) => rows.length > 0
      )

      const choose = Effect.fnUntraced(function* (folder: MigrationFolder, found: ReadonlyArray<RecognisedTable>) {
        const wanted = settings.tool === "auto" ? undefined : settings.tool
        if (wanted === "own") return ownPlace
        const laidOut = folder.layout === "plain" ? undefined : folder.layout === "prisma" ? "prisma" : "drizzle"
        const tool = wanted ?? laidOut
        const ours = found.filter((table) => table.tool === "drizzle" || table.tool === "prisma")
        const fits = ours.find((table) => table.tool === tool)
        if (fits !== undefined) return placeOfTable(fits)
        if (wanted !== undefined) return newPlace(wanted, folder)
        const tools = Array.from(
          new Set([...ours.map((table) => table.tool), ...(laidOut === undefined ? [] : [laidOut])])
        )
        if (ours.length > 0 && tools.length > 1) {
          const files = laidOut === undefined ? "" : `, and the files are ${laidOut}'s`
          return yield* new Conflict({
            error: `The database has a history of ${ours.map((table) => table.tool).join(" and of ")}${files}: which one is meant?`,
            code: "MIGRATION_TOOL_UNCLEAR",
            details: ours.map(shown),
            hint: "Set MIGRATIONS_TOOL"
          })
        }
        const [only] = ours
        if (only !== undefined) return placeOfTable(only)
        if (yield* ownRows) return ownPlace
        if (laidOut !== undefined) return newPlace(laidOut, folder)
        const [other] = found
        return other === undefined ? ownPlace : placeOfTable(other)
      })

      const find = Effect.fn("MigrationHistories.find")(function* (folder: MigrationFolder) {
        const found = yield* tables
        const place = yield* choose(folder, found)
        const notes = found
          .filter((table) => shown(table) !== shown({ ...place, columns: [] }))
          .map((table) => `${shown(table)} is a history of ${table.tool}; it is left alone`)
        if (place.keeper === "other") {
          const tool = place.tool ?? ""
          notes.unshift(
            `${place.schema}.${place.name} is a history of ${tool}: run ${tool} itself, or set MIGRATIONS_TOOL=own`
          )
          return { place, rows: [], notes }
        }
        if (!place.exists) return { place, rows: [], notes }
        const rows = yield* onHistory(place, sql.unsafe<Record<string, unknown>>(readHistory(place)))
        return { place, rows: rows.map(appliedOf), notes }
      })

      const make = Effect.fn("MigrationHistories.make")(function* (place: HistoryPlace) {
        if (place.exists) return
        yield* onHistory(
          place,
          sql.withTransaction(Effect.forEach(makeHistory(place), (text) => sql.unsafe(text), { discard: true }))
        )
      })

      return MigrationHistories.of({ find, make })
    })
  )
}
