import { type MigrationFile, type MigrationFolder } from "./Migration.ts"
import { isoSql } from "../sql/IsoTimestamp.ts"
import { arrayLiteral, quoteName } from "../sql/Names.ts"
import { type RecognisedTable } from "./Tools.ts"

/** The owner of a history's format: one that the service can write, or another tool. */
export type HistoryKeeper = "own" | "drizzle" | "prisma" | "supabase" | "other"

/** The table of a database's migration history, which may not exist yet. */
export interface HistoryPlace {
  readonly keeper: HistoryKeeper
  /** The tool's name in responses; null for the service's own history. */
  readonly tool: string | null
  readonly schema: string
  readonly name: string
  /** False: to be created before the first row. */
  readonly exists: boolean
  /** Whether rows have names; Drizzle's do from 1.0 on. */
  readonly named: boolean
  /** Whether rows have the statements of the file; Supabase's do. */
  readonly statements?: boolean
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

const keepers: Readonly<Record<string, HistoryKeeper>> = { drizzle: "drizzle", prisma: "prisma", supabase: "supabase" }

export const placeOfTable = ({ columns, name, schema, tool }: RecognisedTable): HistoryPlace => ({
  keeper: keepers[tool] ?? "other",
  tool,
  schema,
  name,
  exists: true,
  named: columns.includes("name"),
  statements: columns.includes("statements")
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
      return `select name, null::text as "when", checksum, ${isoSql("applied_at")} as applied_at, false as unfinished, null::text as error
        from ${table} h order by h.applied_at, h.name`
    case "drizzle":
      return `select ${place.named ? "name::text, " : "null::text as name, "}substring(created_at::text from '^\\d+$') as "when", hash::text as checksum,
        ${place.named ? isoSql("applied_at") : "null::text"} as applied_at, false as unfinished, null::text as error from ${table} h order by h.id`
    case "supabase":
      // Versions are the leading digits of files' names, and there are no checksums.
      return `select version::text as name, null::text as "when", null::text as checksum, null::text as applied_at,
        false as unfinished, null::text as error from ${table} h order by h.version`
    default:
      // Prisma ignores migrations that were rolled back.
      return `select migration_name::text as name, null::text as "when", checksum::text, ${isoSql("finished_at")} as applied_at,
        finished_at is null as unfinished, nullif(logs, '') as error from ${table} h where rolled_back_at is null order by h.started_at`
  }
}

/** What a row records about a file. */
export interface HistoryEntry {
  readonly file: MigrationFile
  readonly checksum: string
  /** As `recordedStatements` returns them. */
  readonly statements: ReadonlyArray<string>
}

/** Inserts the row of a file that is applied, as the tool would; of Prisma's, as when it marks one as applied. */
export const recordOf = (
  place: HistoryPlace,
  { checksum, file: { name, when }, statements }: HistoryEntry
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
    const columns = ["version", ...(place.named ? ["name"] : []), ...(place.statements ? ["statements"] : [])]
    const params = [version, ...(place.named ? [rest] : []), ...(place.statements ? [arrayLiteral(statements)] : [])]
    return {
      text: `insert into ${table} (${columns.join(", ")}) values (${columns.map((_, n) => `$${n + 1}`).join(", ")})`,
      params
    }
  }
  return {
    text: `insert into ${table} (id, checksum, migration_name, logs, started_at, finished_at)
      values (pg_catalog.gen_random_uuid(), $1, $2, '', pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())`,
    params: [checksum, name]
  }
}

/** The time by which a row is not an attempt that still runs. */
const now = "pg_catalog.clock_timestamp()"

/** An attempt to apply a file without a transaction around it: it begins, and then ends in one of three ways. */
export interface HistoryAttempt {
  readonly begin: MigrationStatement
  /** In one transaction. */
  readonly finish: ReadonlyArray<MigrationStatement>
  readonly fail: (error: string, kept: number | undefined) => MigrationStatement
}

const ownAttempts = "svc.migration_attempts"

/** The table of a history in the attempts. */
export const attemptsKey = ({ name, schema }: HistoryPlace) => `${schema}.${name}`

/** Forgets that an attempt failed, or takes it as rolled back. */
export const rolledBack = (place: HistoryPlace, name: string): MigrationStatement =>
  place.keeper === "prisma"
    ? {
        text: `update ${quoted(place)} set rolled_back_at = ${now}
          where migration_name = $1 and finished_at is null and rolled_back_at is null`,
        params: [name]
      }
    : { text: `delete from ${ownAttempts} where history = $1 and name = $2`, params: [attemptsKey(place), name] }

/** `id`: a new UUID. */
export const attemptOf = (place: HistoryPlace, entry: HistoryEntry, id: string): HistoryAttempt => {
  const { checksum, file } = entry
  if (place.keeper === "prisma") {
    const table = quoted(place)
    return {
      begin: {
        text: `insert into ${table} (id, checksum, migration_name, started_at) values ($1, $2, $3, ${now})`,
        params: [id, checksum, file.name]
      },
      finish: [
        {
          text: `update ${table} set applied_steps_count = applied_steps_count + 1, finished_at = ${now} where id = $1`,
          params: [id]
        }
      ],
      fail: (error) => ({ text: `update ${table} set logs = $2 where id = $1`, params: [id, error] })
    }
  }
  const key = [attemptsKey(place), file.name]
  return {
    begin: {
      text: `insert into ${ownAttempts} (history, name) values ($1, $2) on conflict (history, name)
        do update set started_at = now(), failed_at = null, error = null, kept = null`,
      params: key
    },
    finish: [rolledBack(place, file.name), recordOf(place, entry)],
    fail: (error, kept) => ({
      text: `update ${ownAttempts} set failed_at = ${now}, error = $3, kept = $4::text::int where history = $1 and name = $2`,
      params: [...key, error, kept === undefined ? null : String(kept)]
    })
  }
}

/** Selects the attempts at files of a history that did not finish. */
export const readAttempts = `select name, error, kept from ${ownAttempts} where history = $1`
