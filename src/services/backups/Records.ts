import { Cause, Effect, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { Backup, BackupId } from "../../domain/backups/Backup.ts"
import { keptBackups, type KeptGenerations } from "../../domain/backups/Generations.ts"
import { Conflict, NotFound, Unavailable } from "../../domain/errors.ts"
import { backupRunLock, backupsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { acquireAdvisoryLocks, queryOn } from "../AdvisoryLock.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { type DumpFailed } from "../ports/DumpTools.ts"

/** How many backups may run at a time, over all replicas (spec: Limits). */
const limit = 2

const tooMany = new Conflict({
  error: `${limit} backups are already in progress`,
  code: "BACKUP_LIMIT",
  hint: "Try again when one of them has ended",
  retry_after: 30
})

/** A backup waits for a branch that is being copied. */
const whileCopied = {
  patience: 60_000,
  pause: 250,
  busy: new Unavailable({
    error: "The database is being copied into a branch",
    code: "BACKUP_SOURCE_BUSY",
    hint: "Try again when the copy is done",
    retry_after: 10
  })
}

const restores = `(select coalesce(json_agg(json_build_object('branch_id', branch_id, 'status', status,
    'progress', progress, 'error', error, 'started_at', ${isoSql("started_at")}, 'finished_at', ${isoSql("finished_at")},
    'objects_gone', objects_gone, 'objects_changed', objects_changed)
    order by id desc), '[]')
  from (select * from svc.restores r where r.backup_id = b.id order by r.id desc limit 10) r)`

const columns = `id, coalesce(full_label, label) as label, status, size_bytes::float8 as size_bytes, sha256, ${isoSql("created_at")} as created_at,
  ${isoSql("completed_at")} as completed_at, progress, error, strategy, tool_version, server_version, format,
  scheduled_for is not null as scheduled, bucket, object_key, copy_error, file_name, warnings,
  object_count::float8 as object_count, object_bytes::float8 as object_bytes,
  verification, ${isoSql("verified_at")} as verified_at, verify_error, ${restores} as restores`

const { bucket, format, id, label, object_key, sha256, size_bytes, status } = Backup.fields

/** A record, with the name of its file in place of whether that is there. */
const Row = Backup.mapFields((fields) => ({
  ...Struct.omit(fields, ["file_missing"]),
  file_name: Schema.NullOr(Schema.String)
}))

/** The location of a backup's bytes. */
const BackupPlace = Schema.Struct({
  id,
  status,
  label,
  /** The file's name in SVC_BACKUP_DIR of the replica that made it; null if it was never begun. */
  file: Schema.NullOr(Schema.String),
  format,
  size: size_bytes,
  sha256,
  globals: Schema.NullOr(Schema.String),
  bucket,
  key: object_key,
  /** Whether a restore of it is in progress. */
  used: Schema.Boolean,
  /** The number of objects in its inventory; null without one. */
  objects: Backup.fields.object_count
})
export type BackupPlace = typeof BackupPlace.Type

/** The content of a new record. */
export interface BackupBeginning {
  readonly label: string
  /** The scheduled time, in ms since 1970; undefined for a caller's backup. */
  readonly slot: number | undefined
  readonly strategy: string
  readonly toolVersion: string
  readonly format: string
  readonly file: string
  /** The bucket that is to receive a copy. */
  readonly bucket: string | undefined
}

/** A backup that counts as in progress until its scope closes. */
export interface BegunBackup {
  readonly id: BackupId
  /** Records the progress in percent; returns the state of the record. */
  readonly report: (percent: number) => Effect.Effect<"in progress" | "cancelled" | "ended", Unavailable>
}

export const backupNotFound = (id: number) => new NotFound({ error: `No backup ${id}`, code: "BACKUP_NOT_FOUND" })

/** A reason in a form that can be stored and shown. */
export const storedReason = (reason: string) => reason.replaceAll("\0", "").slice(0, 4000)

/** Why making or restoring a backup failed. */
export const reasonOf = (cause: Cause.Cause<DumpFailed | { readonly error: string }>, what: "made" | "restored") => {
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") return "reason" in reason.error ? reason.error.reason : reason.error.error
  }
  return Cause.hasInterrupts(cause)
    ? `The service ended while the backup was being ${what}`
    : "Something went wrong on our side; the log has more"
}

/** svc.backups. */
export const makeBackupRecords = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const files = yield* BackupFiles
  const rows = queryRows(sql, Row)
  const places = queryRows(sql, BackupPlace)
  const ids = queryRows(sql, Schema.Struct({ id: BackupId }))
  const scheduled = queryRows(sql, Schema.Struct({ id: BackupId, at: Schema.Finite }))

  /**
   * A backup as callers see it. The table may contain records of another server, which came with a dump of the
   * database.
   */
  const shown = ({ file_name, ...row }: typeof Row.Type): Effect.Effect<Backup> =>
    row.status !== "completed" || row.object_key !== null
      ? Effect.succeed({ ...row, file_missing: false })
      : Effect.map(file_name === null ? Effect.succeed(undefined) : files.size(file_name), (size) => ({
          ...row,
          file_missing: size === undefined
        }))
  const backups = (text: string, params: ReadonlyArray<unknown> = []) =>
    Effect.flatMap(rows(text, params), (found) => Effect.forEach(found, shown, { concurrency: 8 }))

  const find = Effect.fn("BackupRecords.find")(function* (id: BackupId) {
    const [row] = yield* onOwnTables(backups(`select ${columns} from svc.backups b where id = $1::bigint`, [id]))
    return row ?? (yield* backupNotFound(id))
  })

  /**
   * The record, which is in progress for exactly as long as its session holds a lock. Undefined when another replica has
   * the slot. 409 `BACKUP_LIMIT`; 503 `BACKUP_SOURCE_BUSY` when a branch is being copied for over a minute.
   */
  const begin = Effect.fn("BackupRecords.begin")(function* (given: BackupBeginning) {
    const query = queryOn(yield* acquireAdvisoryLocks(sql, [backupsLock], { ...whileCopied, shared: true }))
    const record = Effect.gen(function* () {
      yield* query("begin")
      // One at a time, so that the limit holds.
      yield* query("lock table svc.backups in share row exclusive mode")
      const [row] = yield* query("select count(*)::int as n from svc.backups where status = 'in_progress'")
      if (Number(row?.["n"]) >= limit) return yield* tooMany
      const [made] = yield* query(
        `insert into svc.backups
           (label, full_label, scheduled_for, strategy, tool_version, server_version, format, file_name, copy_to)
         values (left($1, 60), $1, to_timestamp($2::float8 / 1000), $3, $4, current_setting('server_version'), $5, $6, $7)
         on conflict (scheduled_for) do nothing returning id`,
        [
          given.label,
          given.slot ?? null,
          given.strategy,
          given.toolVersion,
          given.format,
          given.file,
          given.bucket ?? null
        ]
      )
      if (made === undefined) {
        yield* query("rollback")
        return undefined
      }
      const id = Number(made["id"]) as BackupId
      yield* query(`select pg_advisory_lock(${backupRunLock}, $1)`, [id])
      yield* query("commit")
      return id
    })
    const id = yield* Effect.onError(Effect.uninterruptible(record), () => Effect.ignore(query("rollback")))
    if (id === undefined) return undefined

    const report: BegunBackup["report"] = (percent) =>
      Effect.map(
        query(
          `update svc.backups set progress = greatest(progress, $2::int) where id = $1 and status = 'in_progress'
           returning cancelled`,
          [id, percent]
        ),
        ([row]) => (row === undefined ? "ended" : row["cancelled"] === true ? "cancelled" : "in progress")
      )
    return { id, report } satisfies BegunBackup
  })

  /** Requests that a backup stops; false when it is not in progress. */
  const requestStop = Effect.fn("BackupRecords.requestStop")(function* (id: BackupId) {
    const requested = yield* onOwnTables(
      ids("update svc.backups set cancelled = true where id = $1::bigint and status = 'in_progress' returning id", [id])
    )
    if (requested.length > 0) return true
    yield* find(id)
    return false
  })

  /**
   * Ids of the completed scheduled backups that the rules do not keep. Deletes records of failed ones that are older than
   * those that are kept, once there are as many as the rules ask for.
   */
  const expired = Effect.fn("BackupRecords.expired")(function* (rules: KeptGenerations) {
    if (rules.length === 0) return []
    const rows = yield* onOwnTables(
      scheduled(
        `select id, extract(epoch from scheduled_for)::float8 * 1000 as at from svc.backups
         where status = 'completed' and scheduled_for is not null order by scheduled_for desc`
      )
    )
    const { full, kept } = keptBackups(rules, rows)
    const oldest = rows.findLast(({ id }) => kept.has(id))
    if (full && oldest !== undefined) {
      yield* onOwnTables(
        sql.unsafe(
          `delete from svc.backups where status = 'failed'
             and scheduled_for < (select scheduled_for from svc.backups where id = $1::bigint)`,
          [oldest.id]
        )
      )
    }
    return rows.flatMap(({ id }) => (kept.has(id) ? [] : [id]))
  })

  return {
    /** Newest first. */
    list: onOwnTables(backups(`select ${columns} from svc.backups b order by id desc`)),
    find,
    place: Effect.fn("BackupRecords.place")(function* (id: BackupId) {
      const [row] = yield* onOwnTables(
        places(
          `select id, status, coalesce(full_label, label) as label, file_name as file, format, size_bytes::float8 as size, sha256, globals, bucket,
             object_key as key,
             exists (select from svc.restores r where r.backup_id = b.id and r.status = 'in_progress') as used,
             object_count::float8 as objects
           from svc.backups b where id = $1::bigint`,
          [id]
        )
      )
      return row ?? (yield* backupNotFound(id))
    }),
    begin,
    requestStop,
    /** Records a scheduled backup that could not be begun; once for each slot. */
    missed: (label: string, slot: number, reason: string) =>
      onOwnTables(
        sql.unsafe(
          `insert into svc.backups (label, status, error, completed_at, scheduled_for)
           values ($1, 'failed', $2, now(), to_timestamp($3::float8 / 1000)) on conflict (scheduled_for) do nothing`,
          [label, storedReason(reason), slot]
        )
      ).pipe(Effect.asVoid),
    /** Deletes a record; false when it was deleted already. `found`: whether its file was in this replica's directory. */
    forget: (id: BackupId, found: boolean) =>
      Effect.map(
        onOwnTables(
          ids(
            `with gone as (delete from svc.backups where id = $1 returning id, file_name),
               kept as (insert into svc.removed_backups (file_name)
                 select file_name from gone where file_name is not null and not $2::bool
                 on conflict do nothing)
             select id from gone`,
            [id, found]
          )
        ),
        ({ length }) => length > 0
      ),
    expired
  }
})

export type BackupRecords = Effect.Success<typeof makeBackupRecords>
