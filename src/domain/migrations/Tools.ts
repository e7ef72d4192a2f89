import { Schema } from "effect"

/** A table that may be the history of a migration tool. */
export const HistoryTable = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  columns: Schema.Array(Schema.String)
})
export type HistoryTable = typeof HistoryTable.Type

export interface RecognisedTable extends HistoryTable {
  readonly tool: string
}

interface Signature {
  readonly tool: string
  readonly table: string
  /** All of them are required. */
  readonly columns: ReadonlyArray<string>
  readonly schema?: string
}

/** History tables of tools. Of entries with the same table name the first that fits counts. */
const signatures: ReadonlyArray<Signature> = [
  { tool: "drizzle", table: "__drizzle_migrations", columns: ["id", "hash", "created_at"] },
  { tool: "prisma", table: "_prisma_migrations", columns: ["id", "checksum", "migration_name", "finished_at"] },
  { tool: "knex", table: "knex_migrations", columns: ["name", "batch", "migration_time"] },
  { tool: "flyway", table: "flyway_schema_history", columns: ["installed_rank", "script"] },
  { tool: "liquibase", table: "databasechangelog", columns: ["id", "author", "filename"] },
  { tool: "sequelize", table: "SequelizeMeta", columns: ["name"] },
  { tool: "laravel", table: "migrations", columns: ["migration", "batch"] },
  { tool: "typeorm", table: "migrations", columns: ["timestamp", "name"] },
  { tool: "typeorm", table: "typeorm_migrations", columns: ["timestamp", "name"] },
  { tool: "graphile-migrate", table: "migrations", columns: ["hash", "previous_hash"], schema: "graphile_migrate" },
  { tool: "django", table: "django_migrations", columns: ["app", "name", "applied"] },
  { tool: "alembic", table: "alembic_version", columns: ["version_num"] },
  { tool: "supabase", table: "schema_migrations", columns: ["version"], schema: "supabase_migrations" },
  { tool: "golang-migrate", table: "schema_migrations", columns: ["version", "dirty"] },
  { tool: "ecto", table: "schema_migrations", columns: ["version", "inserted_at"] },
  { tool: "schema_migrations", table: "schema_migrations", columns: ["version"] },
  { tool: "goose", table: "goose_db_version", columns: ["version_id", "is_applied"] },
  { tool: "node-pg-migrate", table: "pgmigrations", columns: ["name", "run_on"] },
  { tool: "kysely", table: "kysely_migration", columns: ["name", "timestamp"] },
  { tool: "mikro-orm", table: "mikro_orm_migrations", columns: ["name", "executed_at"] },
  { tool: "sqlx", table: "_sqlx_migrations", columns: ["version", "checksum", "success"] },
  { tool: "diesel", table: "__diesel_schema_migrations", columns: ["version", "run_on"] },
  { tool: "entity-framework", table: "__EFMigrationsHistory", columns: ["MigrationId"] },
  { tool: "atlas", table: "atlas_schema_revisions", columns: ["version", "hash"] },
  { tool: "sqitch", table: "changes", columns: ["change_id", "script_hash"], schema: "sqitch" }
]

/** Names of tables to check. */
export const historyTableNames: ReadonlyArray<string> = Array.from(new Set(signatures.map(({ table }) => table)))

/** Drizzle's table may be renamed; these are its columns before 1.0 and since. */
const drizzleColumns = ["created_at", "hash", "id"]
const drizzle1Columns = ["applied_at", "created_at", "hash", "id", "name"]

const isDrizzle = ({ columns, name }: HistoryTable) => {
  const sorted = Array.from(columns).sort().join()
  return /migration/i.test(name) && (sorted === drizzleColumns.join() || sorted === drizzle1Columns.join())
}

const toolOf = (table: HistoryTable, all: ReadonlyArray<HistoryTable>): string | undefined => {
  const found = signatures.find(
    (one) =>
      one.table === table.name &&
      (one.schema ?? table.schema) === table.schema &&
      one.columns.every((column) => table.columns.includes(column))
  )
  if (found === undefined) return isDrizzle(table) ? "drizzle" : undefined
  // Rails and dbmate have the same table; Rails has a second one.
  if (found.tool !== "schema_migrations") return found.tool
  return all.some(({ name, schema }) => name === "ar_internal_metadata" && schema === table.schema) ? "rails" : "dbmate"
}

/** The tables that are histories, in the given order. */
export const recognise = (tables: ReadonlyArray<HistoryTable>): ReadonlyArray<RecognisedTable> =>
  tables.flatMap((table) => {
    const tool = toolOf(table, tables)
    return tool === undefined ? [] : [{ ...table, tool }]
  })
