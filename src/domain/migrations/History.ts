import { type MigrationFile, type MigrationFolder } from "./Migration.ts"
import { isoSql } from "../sql/IsoTimestamp.ts"
import { quoteName } from "../sql/Names.ts"
import { type RecognisedTable } from "./Tools.ts"

/** The owner of a history's format: one that the service can write, or another tool. */
type Keeper = "own" | "drizzle" | "prisma" | "supabase" | "other"

/** The table of a database's migration history, which may not exist yet. */
export interface HistoryPlace {
  readonly keeper: Keeper
  /** The tool's name in responses; null for the service's own history. */
  readonly tool: string | null
  readonly schema: string
  readonly name: string
  /** False: to be created before the first row. */
  readonly exists: boolean
  /** Whether rows have names; Drizzle's do from 1.0 on. */
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

const keepers: Readonly<Record<string, Keeper>> = { drizzle: "drizzle", prisma: "prisma", supabase: "supabase" }

export const placeOfTable = ({ columns, name, schema, tool }: RecognisedTable): HistoryPlace => ({
  keeper: keepers[tool] ?? "other",
  tool,
  schema,
  name,
  exists: true,
  named: columns.includes("name")
})

/** The table that the tool would create in a database without one. */
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

/** Creates the table as its tool does. Drizzle 1.0 recognises its version by PostgreSQL's names of the columns. */
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
    // Default privileges of the schema public would grant them access.
    `revoke all on ${table} from anon, authenticated`
  ]
}

/** Selects the applied migrations, oldest first, as rows of `AppliedMigration`. */
export const readHistory = (place: HistoryPlace): string => {
  const table = quoted(place)
  switch (place.keeper) {
    case "own":
      return `select name, null::text as "when", checksum, ${isoSql("applied_at")} as applied_at, false as unfinished
        from ${table} h order by h.applied_at, h.name`
    case "drizzle":
      return `select ${place.named ? "name::text, " : "null::text as name, "}substring(created_at::text from '^\\d+$') as "when", hash::text as checksum,
        ${place.named ? isoSql("applied_at") : "null::text"} as applied_at, false as unfinished from ${table} h order by h.id`
    case "supabase":
      // Versions are the leading digits of files' names, and there are no checksums.
      return `select version::text as name, null::text as "when", null::text as checksum, null::text as applied_at,
        false as unfinished from ${table} h order by h.version`
    default:
      // Prisma ignores migrations that were rolled back.
      return `select migration_name::text as name, null::text as "when", checksum::text, ${isoSql("finished_at")} as applied_at,
        finished_at is null as unfinished from ${table} h where rolled_back_at is null order by h.started_at`
  }
}

/** Inserts the row that the tool would. `started` is PostgreSQL's time when the file began. */
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
    const time = "coalesce($2::bigint, floor(extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint)"
    const text = place.named
      ? `insert into ${table} (hash, created_at, name) values ($1, ${time}, $3)`
      : `insert into ${table} (hash, created_at) values ($1, ${time})`
    return { text, params: [checksum, when === undefined ? null : String(when), ...(place.named ? [name] : [])] }
  }
  if (place.keeper === "supabase") {
    const [, version = "", rest = ""] = /^(\d*)_?(.*)$/s.exec(name) ?? []
    return place.named
      ? { text: `insert into ${table} (version, name) values ($1, $2)`, params: [version, rest] }
      : { text: `insert into ${table} (version) values ($1)`, params: [version] }
  }
  return {
    text: `insert into ${table} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
      values (pg_catalog.gen_random_uuid(), $1, $2, $3, pg_catalog.clock_timestamp(), 1)`,
    params: [checksum, name, started]
  }
}
