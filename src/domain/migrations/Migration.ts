import { Option, Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"

/**
 * `applied`: in the history with the same checksum. `pending`: not in the history. `modified`: the file differs from the
 * one that was applied. `orphaned`: in the history, without a file.
 */
const MigrationState = Schema.Literals(["applied", "pending", "modified", "orphaned"])

const nullableText = Schema.NullOr(Schema.String)

export const Migration = Schema.Struct({
  /** Drizzle's tag, Prisma's folder, or the file's name without `.sql`. */
  name: Schema.String,
  status: MigrationState,
  /** ISO 8601; null when it was not applied, or the tool does not record it (Drizzle before 1.0). */
  applied_at: nullableText,
  /** SHA-256 (hex) of the current file, computed as the tool does; without a file, the checksum in the history. */
  checksum: nullableText,
  /** The checksum in the history. */
  applied_checksum: nullableText,
  /** Why it can't be run, or what its last attempt left; null without a known problem. */
  problem: nullableText,
  /** Whether it was started outside of a transaction and did not finish, so that parts of it may be applied. */
  unfinished: Schema.Boolean
}).annotate({ identifier: "Migration" })
export type Migration = typeof Migration.Type

const count = Schema.Int

export const MigrationStatus = Schema.Struct({
  /** `drizzle`, `prisma`, the name of an unsupported tool, or null for the service's own history. */
  tool: nullableText,
  /** The table of the history, which may not exist before the first run. */
  table: Schema.String,
  /** MIGRATIONS_DIR. */
  directory: Schema.String,
  /** The migrations in the order in which they run, then the orphaned ones. */
  migrations: Schema.Array(Migration),
  summary: Schema.Struct({ applied: count, pending: count, modified: count, orphaned: count, total: count }),
  /** Hints such as a missing directory or ignored files. */
  notes: Schema.Array(Schema.String)
}).annotate({ identifier: "MigrationStatus" })
export type MigrationStatus = typeof MigrationStatus.Type

export const MigrationRun = Schema.Struct({
  ...MigrationStatus.fields,
  /** Names of the migrations that this call applied. */
  ran: Schema.Array(Schema.String)
}).annotate({ identifier: "MigrationRun" })
export type MigrationRun = typeof MigrationRun.Type

/** The answer to a mark: the status after it, and the names that were marked. */
export const MigrationMark = Schema.Struct({ ...MigrationStatus.fields, marked: Schema.Array(Schema.String) }).annotate(
  {
    identifier: "MigrationMark"
  }
)
export type MigrationMark = typeof MigrationMark.Type

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(1024))

/** `through`: the last migration that the database has already; it and all pending ones before it are marked. */
export const MigrationBaseline = Schema.Struct({ through: Name })
/** What an administrator has found out about a migration that did not finish. */
export const MigrationResolution = Schema.Struct({ name: Name, as: Schema.Literals(["applied", "rolled_back"]) })
export type MigrationResolution = typeof MigrationResolution.Type

/** Part of a file's name. */
const NewName = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,79}$/i))
/** Characters of a migration that is saved. */
const maxSaved = 900_000
/** A line `-- svc: new transaction` begins another file, which is run after the one before is committed. */
export const NewMigration = Schema.Struct({
  name: NewName,
  sql: Schema.NonEmptyString.check(Schema.isMaxLength(maxSaved), isStorable)
})
export type NewMigration = typeof NewMigration.Type

/** `saved`: the names of the new files. */
export const SavedMigration = Schema.Struct({ ...MigrationStatus.fields, saved: Schema.Array(Schema.String) }).annotate(
  {
    identifier: "SavedMigration"
  }
)
export type SavedMigration = typeof SavedMigration.Type

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
  /** Checksums of the same text with other line ends, which Prisma considers equal. */
  readonly alike: ReadonlyArray<string>
  /** Drizzle's time of the migration, in ms. */
  readonly when: number | undefined
  readonly problem: string | undefined
  /** It is listed, but the file does not exist. */
  readonly missing?: true
}

/** The content of MIGRATIONS_DIR. */
export interface MigrationFolder {
  readonly directory: string
  readonly layout: MigrationLayout
  /** The files in the order in which they run. */
  readonly files: ReadonlyArray<MigrationFile>
  readonly notes: ReadonlyArray<string>
}

/** A row of a history, as `readHistory` selects it. */
export const AppliedMigration = Schema.Struct({
  name: nullableText,
  /** Drizzle's `created_at`. */
  when: Schema.NullOr(Schema.FiniteFromString),
  checksum: nullableText,
  applied_at: nullableText,
  /** Prisma began it, and it was neither finished nor marked as rolled back. */
  unfinished: Schema.Boolean,
  /** The error of an unfinished one, if Prisma recorded it. */
  error: nullableText
})
export type AppliedMigration = typeof AppliedMigration.Type

/** A row of svc.migration_attempts. */
export const MigrationAttempt = Schema.Struct({
  name: Schema.String,
  error: nullableText,
  kept: Schema.NullOr(Schema.Int)
})
export type MigrationAttempt = typeof MigrationAttempt.Type

/** Compares names by their leading numbers, `2_b` before `10_a`, then by their characters. */
export const byName = (a: string, b: string): number => {
  const [x, y] = [leadingNumber(a), leadingNumber(b)]
  if (x !== undefined && y !== undefined && x !== y) return x.length - y.length || (x < y ? -1 : 1)
  return a < b ? -1 : a > b ? 1 : 0
}

const leadingNumber = (name: string) => /^0*(\d+)/.exec(name)?.[1]

/** Drizzle's list of its migrations, in the order in which they run. */
const Journal = Schema.fromJsonString(
  Schema.Struct({ entries: Schema.Array(Schema.Struct({ tag: Schema.String, when: Schema.Finite })) })
)
export type JournalEntry = { readonly tag: string; readonly when: number }

const decode = Schema.decodeUnknownOption(Journal)

/** The entries of a meta/_journal.json; undefined when it is invalid. */
export const journalEntries = (text: string): ReadonlyArray<JournalEntry> | undefined =>
  Option.getOrUndefined(Option.map(decode(text), ({ entries }) => entries))

const folderTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/

/** The time in the name of a folder of Drizzle 1.0, `20260102030405_name`, in ms. */
export const drizzleMillis = (folder: string): number | undefined => {
  const match = folderTime.exec(folder)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
