import { Schema } from "effect"
import { randomBytes } from "node:crypto"
import { maxBranchLabel } from "../branches/Branch.ts"
import { isStorable } from "../text/StorableText.ts"

export const BackupId = Schema.Int.pipe(Schema.brand("BackupId"))
export type BackupId = typeof BackupId.Type

/** Maximum length of a label, in characters. */
const maxLabel = 100

const Label = Schema.NonEmptyString.check(Schema.isMaxCodePoints(maxLabel), isStorable)

/** The payload that creates a backup (spec: Backup). */
export const NewBackup = Schema.Struct({ label: Label })
export type NewBackup = typeof NewBackup.Type

/** `in_progress` changes once, to one of the other two. */
const Outcome = Schema.Literals(["in_progress", "completed", "failed"])

const Percent = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

/** A restore of a backup into a branch. Timestamps are ISO 8601 in UTC with milliseconds. */
const BackupRestore = Schema.Struct({
  /** Null when the branch is deleted. */
  branch_id: Schema.NullOr(Schema.Int),
  status: Outcome,
  progress: Percent,
  error: Schema.NullOr(Schema.String),
  started_at: Schema.String,
  finished_at: Schema.NullOr(Schema.String)
})

/** A backup in responses. */
export const Backup = Schema.Struct({
  id: BackupId,
  label: Schema.String,
  status: Outcome,
  /** Size of the file; 0 until it is complete. */
  size_bytes: Schema.Int,
  /** Digest of the file in lower-case hex; null until it is complete, and for files of versions without digests. */
  sha256: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  /** The time at which it completed or failed. */
  completed_at: Schema.NullOr(Schema.String),
  progress: Percent,
  error: Schema.NullOr(Schema.String),
  /** PostgreSQL's own program, or the same compiled to WebAssembly. */
  strategy: Schema.NullOr(Schema.Literals(["pg_dump", "pg_dump-wasm"])),
  tool_version: Schema.NullOr(Schema.String),
  server_version: Schema.NullOr(Schema.String),
  /** `custom`: for pg_restore. `plain`: SQL, compressed with zstd. */
  format: Schema.NullOr(Schema.Literals(["custom", "plain"])),
  scheduled: Schema.Boolean,
  /** The bucket of its copy in the object store, once that is complete. */
  bucket: Schema.NullOr(Schema.String),
  object_key: Schema.NullOr(Schema.String),
  copy_error: Schema.NullOr(Schema.String),
  /** Whether a completed backup has neither a file in this replica's directory nor a copy: it can't be restored here. */
  file_missing: Schema.Boolean,
  /** Objects that a restore lacks or fails for, as the database was when the backup was made. */
  warnings: Schema.Array(Schema.String),
  /** Whether it was restored for a trial, and the result had the same content; null when that is not planned. */
  verification: Schema.NullOr(Schema.Literals(["waiting", "running", "passed", "failed", "skipped"])),
  /** The time at which the verification passed or failed. */
  verified_at: Schema.NullOr(Schema.String),
  /** The difference, or the reason why it could not be restored or was skipped. */
  verify_error: Schema.NullOr(Schema.String),
  /** Newest first, at most ten. */
  restores: Schema.Array(BackupRestore)
}).annotate({ identifier: "Backup" })
export type Backup = typeof Backup.Type

const isTimestamp = (text: string) => {
  const match = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i.exec(text)
  if (match === null || Number.isNaN(Date.parse(text.toUpperCase()))) return false
  // JavaScript parses 31 June as 1 July.
  const days = new Date(Date.UTC(Number(match[1]), Number(match[2]), 0)).getUTCDate()
  return Number(match[3]) <= days
}

/** Progress in percent; 100 only when it is complete. */
export const percentOf = (fraction: number) => Math.max(0, Math.min(99, Math.floor(fraction * 100)))

/** A request for point-in-time recovery. */
export const PointInTime = Schema.Struct({
  target_time: Schema.String.check(
    Schema.makeFilter(
      (text: string) =>
        isTimestamp(text) || "Expected an ISO 8601 timestamp with a time zone, such as 2026-11-21T12:00:00Z"
    )
  ),
  label: Label
})

/** The label of a restore's branch: truncated to the maximum length of those, without splitting a character. */
export const restoreLabel = (label: string) => Array.from(`Restore of ${label}`).slice(0, maxBranchLabel).join("")

/** `slot` in ms since 1970. */
export const scheduledLabel = (slot: number) =>
  `scheduled ${new Date(slot).toISOString().slice(0, 16).replace("T", " ")} UTC`

const endings = { custom: "dump", plain: "sql.zst" } as const

/** A unique file name such as `20261121T030000Z-0123456789ab.dump`. */
export const newBackupFile = (now: number, format: keyof typeof endings) =>
  `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z-${randomBytes(6).toString("hex")}.${endings[format]}`

/** Name of an incomplete file: a backup's, its script, or its copy that is fetched for the restore with that number. */
export const partialFile = (file: string, restore?: number) =>
  restore === undefined ? `${file}.partial` : `${file}.restore-${restore}.partial`

/** The parts of a name that `partialFile` made; undefined for other files. */
export const parsePartial = (
  name: string
): { readonly file: string; readonly restore: number | undefined } | undefined => {
  const match =
    /^(\d{8}T\d{6}Z-[0-9a-f]{12}\.(?:dump|sql\.zst))(?:\.globals\.sql|\.restore-(\d{1,10}))?\.partial$/.exec(name)
  if (match === null) return undefined
  return { file: match[1] ?? "", restore: match[2] === undefined ? undefined : Number(match[2]) }
}

/** The script of `DumpTools.globals`, next to a backup's file. */
export const globalsFile = (file: string) => `${file}.globals.sql`
