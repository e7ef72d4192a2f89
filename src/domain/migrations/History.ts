import { type AppliedMigration, type MigrationFile, type MigrationFolder } from "./Migration.ts"
import { isoSql } from "../sql/IsoTimestamp.ts"
import { quoteName } from "../sql/Names.ts"
import { type RecognisedTable } from "./Tools.ts"

/** Who keeps a history: the three we can write, and all others. */
type Keeper = "own" | "drizzle" | "prisma" | "other"

/** Where the history of a database is, or will be. */
export interface HistoryPlace {
  readonly keeper: Keeper
  /** What readers are told: null for our own. */
  readonly tool: string | null
  readonly schema: string
  readonly name: string
  /** False: to be made before the first row. */
  readonly exists: boolean
  /** Drizzle 1.0: rows have names. */
  readonly named: boolean
}

export interface MigrationStatement {
  readonly text: string
  readonly params: ReadonlyArray<string | null>
}

export const ownPlace: HistoryPlace = {
  keeper: "own",
  tool: null,
  schema: "svc",
  name: "applied_migrations",
  exists: true,
  named: true
}

const keepers: Readonly<Record<string, Keeper>> = { drizzle: "drizzle", prisma: "prisma" }

export const placeOfTable = ({ columns, name, schema, tool }: RecognisedTable): HistoryPlace => ({
  keeper: keepers[tool] ?? "other",
  tool,
  schema,
  name,
  exists: true,
  named: columns.includes("name")
})

/** Where the tool would make its table in a database that has none. */
export const newPlace = (tool: "drizzle" | "prisma", { layout }: MigrationFolder): HistoryPlace => ({
  keeper: tool,
  tool,
  ...(tool === "drizzle"
    ? { schema: "drizzle", name: "__drizzle_migrations" }
    : { schema: "public", name: "_prisma_migrations" }),
  exists: false,
  named: layout === "drizzle-folders"
})

const quoted = ({ name, schema }: HistoryPlace) => `${quoteName(schema)}.${quoteName(name)}`

/** The table, made as its tool makes it. PostgreSQL's own words for the columns: Drizzle 1.0 tells versions by them. */
export const makeHistory = (place: HistoryPlace): ReadonlyArray<string> => {
  const table = quoted(place)
  if (place.keeper === "drizzle") {
    const more = place.named ? ", name text, applied_at timestamp with time zone default now()" : ""
    return [
      `create schema if not exists ${quoteName(place.schema)}`,
      `create table if not exists ${table} (id serial primary key, hash text not null, created_at bigint${more})`
    ]
  }
  return [
    `create table if not exists ${table} (
       id varchar(36) primary key not null,
       checksum varchar(64) not null,
       finished_at timestamptz,
       migration_name varchar(255) not null,
       logs text,
       rolled_back_at timestamptz,
       started_at timestamptz not null default now(),
       applied_steps_count integer not null default 0
     )`,
    // It stands in a schema whose new tables are open to them.
    `revoke all on ${table} from anon, authenticated`
  ]
}

/** What was run, oldest first: columns of an `AppliedMigration`, `when` as text. */
export const readHistory = (place: HistoryPlace): string => {
  const table = quoted(place)
  switch (place.keeper) {
    case "own":
      return `select name, null::text as "when", checksum, ${isoSql("applied_at")} as applied_at, false as unfinished
        from ${table} h order by h.applied_at, h.name`
    case "drizzle":
      return `select ${place.named ? "name, " : "null::text as name, "}created_at::text as "when", hash as checksum,
        ${place.named ? isoSql("applied_at") : "null::text"} as applied_at, false as unfinished from ${table} h order by h.id`
    default:
      // One that was rolled back counts for Prisma as if it had never been begun.
      return `select migration_name as name, null::text as "when", checksum, ${isoSql("finished_at")} as applied_at,
        finished_at is null as unfinished from ${table} h where rolled_back_at is null order by h.started_at`
  }
}

export const appliedOf = (row: Readonly<Record<string, unknown>>): AppliedMigration => ({
  name: row["name"] as string | null,
  when: row["when"] === null ? null : Number(row["when"]),
  checksum: row["checksum"] as string | null,
  applied_at: row["applied_at"] as string | null,
  unfinished: row["unfinished"] as boolean
})

/** The row its tool would have written. `started` is PostgreSQL's time when the file began. */
export const recordOf = (
  place: HistoryPlace,
  { name, when }: MigrationFile,
  checksum: string,
  started: string
): MigrationStatement => {
  const table = quoted(place)
  if (place.keeper === "own") {
    return { text: `insert into ${table} (name, checksum) values ($1, $2)`, params: [name, checksum] }
  }
  if (place.keeper === "drizzle") {
    const text = place.named
      ? `insert into ${table} (hash, created_at, name) values ($1, $2, $3)`
      : `insert into ${table} (hash, created_at) values ($1, $2)`
    return { text, params: [checksum, String(when), ...(place.named ? [name] : [])] }
  }
  return {
    text: `insert into ${table} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
      values (pg_catalog.gen_random_uuid(), $1, $2, $3, pg_catalog.clock_timestamp(), 1)`,
    params: [checksum, name, started]
  }
}
