import { Schema } from "effect"

/**
 * `applied`: in the history with the same checksum. `pending`: not in the history. `modified`: the file is another than
 * the one that was run. `orphaned`: in the history, but there is no such file.
 */
const MigrationState = Schema.Literals(["applied", "pending", "modified", "orphaned"])

const nullableText = Schema.NullOr(Schema.String)

export const Migration = Schema.Struct({
  /** Drizzle's tag, Prisma's folder, or the file's name without `.sql`. */
  name: Schema.String,
  status: MigrationState,
  /** ISO 8601; null when it was not run, or when the tool does not keep it (Drizzle before 1.0). */
  applied_at: nullableText,
  /** SHA-256 (hex) of the file as it is now, computed as the tool does; without a file what the history has. */
  checksum: nullableText,
  /** What the history has. */
  applied_checksum: nullableText,
  /** Why it could not be run; null when nothing is known to be wrong. */
  problem: nullableText
}).annotate({ identifier: "Migration" })
export type Migration = typeof Migration.Type

const count = Schema.Int

export const MigrationStatus = Schema.Struct({
  /** Whose history it is: `drizzle`, `prisma`, the name of a tool we leave alone, or null for our own. */
  tool: nullableText,
  /** Where the history is, or will be once something is run. */
  table: Schema.String,
  /** MIGRATIONS_DIR. */
  directory: Schema.String,
  /** In the order they are run in; then the orphaned. */
  migrations: Schema.Array(Migration),
  summary: Schema.Struct({ applied: count, pending: count, modified: count, orphaned: count, total: count }),
  /** What a reader may wonder about: a missing directory, files that are left out. */
  notes: Schema.Array(Schema.String)
}).annotate({ identifier: "MigrationStatus" })
export type MigrationStatus = typeof MigrationStatus.Type

export const MigrationRun = Schema.Struct({
  ...MigrationStatus.fields,
  /** Names of those that this call ran. */
  ran: Schema.Array(Schema.String)
}).annotate({ identifier: "MigrationRun" })
export type MigrationRun = typeof MigrationRun.Type

export const MigrationText = Schema.Struct({ name: Schema.String, sql: Schema.String }).annotate({
  identifier: "MigrationText"
})
export type MigrationText = typeof MigrationText.Type

/**
 * How a directory is laid out: `drizzle` (meta/_journal.json), `drizzle-folders` (Drizzle 1.0: a folder each, with a
 * snapshot.json), `prisma` (a folder each, and migration_lock.toml), `plain` (.sql files and folders with a migration.sql).
 */
export type MigrationLayout = "plain" | "drizzle" | "drizzle-folders" | "prisma"

export interface MigrationFile {
  readonly name: string
  /** Its path below the directory, with `/`. */
  readonly path: string
  /** A folder with a migration.sql in it. */
  readonly folder: boolean
  /** SHA-256 in hex; null when it could not be read. */
  readonly checksum: string | null
  /** Of the same text with other ends of lines, which Prisma takes for the same. */
  readonly alike: ReadonlyArray<string>
  /** Drizzle's time of the migration, in ms. */
  readonly when: number | undefined
  readonly problem: string | undefined
  /** It is known of, but gone. */
  readonly missing?: true
}

/** What is in MIGRATIONS_DIR. */
export interface MigrationFolder {
  readonly directory: string
  readonly layout: MigrationLayout
  /** In the order they are run in. */
  readonly files: ReadonlyArray<MigrationFile>
  readonly notes: ReadonlyArray<string>
}

/** A row of a history. */
export interface AppliedMigration {
  readonly name: string | null
  /** Drizzle's `created_at`. */
  readonly when: number | null
  readonly checksum: string | null
  readonly applied_at: string | null
  /** Prisma began it, and neither finished it nor was told that it was rolled back. */
  readonly unfinished: boolean
}

/** By the numbers they begin with, `2_b` before `10_a`, then by their characters. */
export const byName = (a: string, b: string): number => {
  const [x, y] = [leadingNumber(a), leadingNumber(b)]
  if (x !== undefined && y !== undefined && x !== y) return x.length - y.length || (x < y ? -1 : 1)
  return a < b ? -1 : a > b ? 1 : 0
}

const leadingNumber = (name: string) => /^0*(\d+)/.exec(name)?.[1]
