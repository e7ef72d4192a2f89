import { randomBytes } from "node:crypto"
import { Schema } from "effect"
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
  finished_at: Schema.NullOr(Schema.String),
  /** Objects of the inventory that the store no longer had then, or had with another content; null if unknown. */
  objects_gone: Schema.NullOr(Schema.Int),
  objects_changed: Schema.NullOr(Schema.Int)
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
  /** The number and bytes of the objects that the store had, in the backup's inventory; null if there is none. */
  object_count: Schema.NullOr(Schema.Int),
  object_bytes: Schema.NullOr(Schema.Int),
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

/** Progress in percent; 100 only when it is complete. */
export const percentOf = (fraction: number) => Math.max(0, Math.min(99, Math.floor(fraction * 100)))

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
    /^(\d{8}T\d{6}Z-[0-9a-f]{12}\.(?:dump|sql\.zst))(?:\.globals\.sql|\.objects\.ndjson\.gz|\.restore-(\d{1,10}))?\.partial$/.exec(
      name
    )
  if (match === null) return undefined
  return { file: match[1] ?? "", restore: match[2] === undefined ? undefined : Number(match[2]) }
}

/** The script of `DumpTools.globals`, next to a backup's file. */
export const globalsFile = (file: string) => `${file}.globals.sql`

/** The inventory of the objects in the store, next to a backup's file. */
export const inventoryFile = (file: string) => `${file}.objects.ndjson.gz`

/** An object of an inventory that the store no longer has, or has with another content. */
const LostObject = Schema.Struct({
  bucket: Schema.String,
  key: Schema.String,
  size: Schema.Int,
  /** The ETag, which is the MD5 of objects that were not uploaded in parts. */
  etag: Schema.String,
  version: Schema.NullOr(Schema.String),
  state: Schema.Literals(["gone", "changed"])
})
export type LostObject = typeof LostObject.Type

/** The objects of an inventory that were lost since; `objects`: the first of them. */
export const LostObjects = Schema.Struct({
  gone: Schema.Int,
  changed: Schema.Int,
  objects: Schema.Array(LostObject),
  is_truncated: Schema.Boolean
})
export type LostObjects = typeof LostObjects.Type

/** Objects that no extension brings. */
const ofNoExtension = (catalogue: string, oid: string) => `${oid} >= 16384 and not exists (
    select from pg_depend d where d.deptype = 'e' and d.classid = '${catalogue}'::regclass and d.objid = ${oid})`

const fails = "a restore fails: only a superuser may create it"

/**
 * Lists what a restore into a branch, with the rights of the branch's role, lacks or fails for: a `warning` for each
 * object. It must agree with src/layers/dumps.
 */
export const backupWarningsSql = `
  select warning from (
    select 1 as step, format('function %s in the language %s: ${fails}', p.oid::regprocedure, l.lanname) as warning
    from pg_proc p join pg_language l on l.oid = p.prolang where not l.lanpltrusted and ${ofNoExtension("pg_proc", "p.oid")}
    union all
    select 1, format('function %s is LEAKPROOF: ${fails}', p.oid::regprocedure) from pg_proc p
    where p.proleakproof and ${ofNoExtension("pg_proc", "p.oid")}
    union all
    select 1, format('function %s has a support function: ${fails}', p.oid::regprocedure) from pg_proc p
    where p.prosupport <> 0 and ${ofNoExtension("pg_proc", "p.oid")}
    union all
    select 1, format('base type %s: ${fails}', t.oid::regtype) from pg_type t
    where t.typtype = 'b' and t.typcategory <> 'A' and ${ofNoExtension("pg_type", "t.oid")}
    union all
    select 1, format('operator class %I.%I: ${fails}', n.nspname, o.opcname)
    from pg_opclass o join pg_namespace n on n.oid = o.opcnamespace where ${ofNoExtension("pg_opclass", "o.oid")}
    union all
    select 1, format('operator family %I.%I: ${fails}', n.nspname, o.opfname)
    from pg_opfamily o join pg_namespace n on n.oid = o.opfnamespace where ${ofNoExtension("pg_opfamily", "o.oid")}
    union all
    select 1, format('access method %I: ${fails}', a.amname) from pg_am a where ${ofNoExtension("pg_am", "a.oid")}
    union all
    select 1, format('language %I: ${fails}', l.lanname) from pg_language l where ${ofNoExtension("pg_language", "l.oid")}
    union all
    select 1, format('foreign-data wrapper %I: ${fails}', w.fdwname) from pg_foreign_data_wrapper w
    where ${ofNoExtension("pg_foreign_data_wrapper", "w.oid")}
    union all
    select 1, format('text search template %s: ${fails}', t.tmplname) from pg_ts_template t
    where ${ofNoExtension("pg_ts_template", "t.oid")}
    union all
    select 1, format('text search parser %s: ${fails}', p.prsname) from pg_ts_parser p where ${ofNoExtension("pg_ts_parser", "p.oid")}
    union all
    select 1, format('cast from %s to %s without a function: ${fails}', c.castsource::regtype, c.casttarget::regtype)
    from pg_cast c where c.castmethod = 'b' and ${ofNoExtension("pg_cast", "c.oid")}
    union all
    select 2, format('subscription %I is not restored: it would use the slot of this one', s.subname)
    from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname = current_database()
    union all
    select 3, format('event trigger %I is not restored: %s', e.evtname,
      case e.evtevent when 'login' then 'the service logs in, too' else 'that takes a superuser and PostgreSQL 17' end)
    from pg_event_trigger e, pg_roles me
    where me.rolname = current_user and e.evtname not in ('svc_ddl', 'svc_ddl_drop') and ${ofNoExtension("pg_event_trigger", "e.oid")}
      and (e.evtevent = 'login' or not me.rolsuper or current_setting('server_version_num')::int < 170000)
  ) w order by step, warning limit 50`
