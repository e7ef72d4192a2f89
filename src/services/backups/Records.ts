import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Backup, type BackupId } from "../../domain/backups/Backup.ts"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { onOwnTables } from "../OwnTables.ts"

const restores = `(select coalesce(json_agg(json_build_object('branch_id', branch_id, 'status', status,
    'progress', progress, 'error', error, 'started_at', ${isoSql("started_at")}, 'finished_at', ${isoSql("finished_at")})
    order by id desc), '[]')::text
  from (select * from svc.restores r where r.backup_id = b.id order by r.id desc limit 10) r)`

const columns = `id, label, status, size_bytes::float8 as size_bytes, ${isoSql("created_at")} as created_at,
  ${isoSql("completed_at")} as completed_at, progress, error, strategy, tool_version, server_version, format,
  scheduled_for is not null as scheduled, bucket, object_key, copy_error, ${restores} as restores`

type Row = Omit<Backup, "restores"> & { readonly restores: string }

/** Where the bytes of a backup are. */
export interface BackupPlace {
  readonly id: number
  readonly status: Backup["status"]
  readonly label: string
  /** In SVC_BACKUP_DIR of the replica that made it; null when it was never begun. */
  readonly file: string | null
  readonly format: "custom" | "plain"
  readonly size: number
  readonly globals: string | null
  readonly bucket: string | null
  readonly key: string | null
  /** Whether a restore of it is under way. */
  readonly used: boolean
}

export const backupNotFound = (id: number) => new NotFound({ error: `No backup ${id}`, code: "BACKUP_NOT_FOUND" })

/** A reason as it can be stored and shown. */
export const shownReason = (reason: string) => reason.replaceAll("\0", "").slice(0, 4000)

/** What svc.backups says of each backup. */
export class BackupRecords extends Context.Service<
  BackupRecords,
  {
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<Backup>, Unavailable>
    readonly find: (id: BackupId) => Effect.Effect<Backup, NotFound | Unavailable>
    readonly place: (id: BackupId) => Effect.Effect<BackupPlace, NotFound | Unavailable>
    /** Asks whoever makes it to stop; false when nobody does any more. */
    readonly askToStop: (id: BackupId) => Effect.Effect<boolean, NotFound | Unavailable>
    /** One that could not even be begun, so that it is seen. Once for each slot. */
    readonly missed: (label: string, slot: number, reason: string) => Effect.Effect<void, Unavailable>
    /** `found`: whether its file was where it was looked for. False when it was gone already. */
    readonly forget: (id: BackupId, found: boolean) => Effect.Effect<boolean, Unavailable>
    /** Ids of scheduled ones that are too old when so many are kept; failed ones that are older than those are gone. */
    readonly outworn: (keep: number) => Effect.Effect<ReadonlyArray<BackupId>, Unavailable>
  }
>()("svc/services/BackupRecords") {
  static readonly layer = Layer.effect(
    BackupRecords,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ask = <A extends object>(text: string, params: ReadonlyArray<string | number | boolean | null> = []) =>
        onOwnTables(sql.unsafe<A>(text, [...params]))
      const shown = (row: Row): Backup => ({ ...row, restores: JSON.parse(row.restores) as Backup["restores"] })

      const find = Effect.fn("BackupRecords.find")(function* (id: BackupId) {
        const [row] = yield* ask<Row>(`select ${columns} from svc.backups b where id = $1`, [id])
        return row === undefined ? yield* backupNotFound(id) : shown(row)
      })

      return BackupRecords.of({
        list: Effect.map(ask<Row>(`select ${columns} from svc.backups b order by id desc`), (rows) => rows.map(shown)),
        find,
        place: Effect.fn("BackupRecords.place")(function* (id) {
          const [row] = yield* ask<BackupPlace>(
            `select id, status, label, file_name as file, format, size_bytes::float8 as size, globals, bucket,
               object_key as key,
               exists (select from svc.restores r where r.backup_id = b.id and r.status = 'in_progress') as used
             from svc.backups b where id = $1`,
            [id]
          )
          return row ?? (yield* backupNotFound(id))
        }),
        askToStop: Effect.fn("BackupRecords.askToStop")(function* (id) {
          const asked = yield* ask(
            "update svc.backups set cancelled = true where id = $1 and status = 'in_progress' returning id",
            [id]
          )
          if (asked.length > 0) return true
          yield* find(id)
          return false
        }),
        missed: (label, slot, reason) =>
          Effect.asVoid(
            ask(
              `insert into svc.backups (label, status, error, completed_at, scheduled_for)
               values ($1, 'failed', $2, now(), to_timestamp($3::float8 / 1000)) on conflict (scheduled_for) do nothing`,
              [label, shownReason(reason), slot]
            )
          ),
        forget: (id, found) =>
          Effect.map(
            ask<{ readonly gone: number }>(
              `with gone as (delete from svc.backups where id = $1 returning file_name),
                 kept as (insert into svc.removed_backups (file_name)
                   select file_name from gone where file_name is not null and not $2::bool
                   on conflict do nothing)
               select count(*)::int as gone from gone`,
              [id, found]
            ),
            ([row]) => row !== undefined && row.gone > 0
          ),
        outworn: Effect.fn("BackupRecords.outworn")(function* (keep) {
          if (keep === 0) return []
          yield* ask(
            `delete from svc.backups where status = 'failed' and scheduled_for < (
               select min(scheduled_for) from (
                 select scheduled_for from svc.backups where status = 'completed' and scheduled_for is not null
                 order by scheduled_for desc limit $1) kept
               having count(*) >= $1)`,
            [keep]
          )
          const rows = yield* ask<{ readonly id: BackupId }>(
            `select id from svc.backups where status = 'completed' and scheduled_for is not null
             order by scheduled_for desc offset $1`,
            [keep]
          )
          return rows.map(({ id }) => id)
        })
      })
    })
  )
}
