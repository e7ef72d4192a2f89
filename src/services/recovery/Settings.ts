import { Context, Effect, Layer } from "effect"
import { join, resolve } from "node:path"
import { type CronSetting, cron, duration, flag, integer, text } from "../../domain/Settings.ts"

/** Whether the write-ahead log is archived. */
export const recoveryEnabled = flag("SVC_PITR", false)

/** The log in MiB that PostgreSQL keeps for an archive that is not reachable. */
export const archiveLogLimit = integer("SVC_PITR_MAX_WAL_MB", 4096, 64, 10_000_000)

/** Begins the name of the slot that keeps the log until it is archived. */
export const archiveSlotPrefix = "svc_archive_"

const slotSql = (prefix: string) =>
  `(select '${prefix}' || oid::text from pg_database where datname = current_database())`

/** The slot that keeps the log until it is archived: one for each installation on a cluster. */
export const archiveSlotSql = slotSql(archiveSlotPrefix)

/** A temporary slot of the session that archives the log, which keeps none: only one session can have it. */
export const archiveLeaseSql = slotSql("svc_archiver_")

/** Whether a process archives the log. */
export const archivedSql = `exists (select from pg_replication_slots where slot_name = ${archiveLeaseSql})`

/** SVC_PITR and SVC_PITR_* (docs/configuration.md), read before anything is started. */
export class RecoverySettings extends Context.Service<
  RecoverySettings,
  {
    readonly enabled: boolean
    /** Absolute; used unless there is a bucket. */
    readonly directory: string
    /** Bucket of the object store that holds the archive instead. */
    readonly bucket: string | undefined
    /** The schedule of base backups, in UTC. */
    readonly schedule: CronSetting
    /** How far back a restore can reach, in ms. */
    readonly keep: number
    /** Whether the archive is restored after each base backup, as a proof that it works. */
    readonly drills: boolean
    /** See `archiveLogLimit`. */
    readonly maxLog: number
  }
>()("svc/services/RecoverySettings") {
  static readonly layer = Layer.effect(
    RecoverySettings,
    Effect.gen(function* () {
      const directory = yield* text("SVC_PITR_DIR", undefined)
      return RecoverySettings.of({
        enabled: yield* recoveryEnabled,
        directory: resolve(directory ?? join(yield* text("SVC_DATA_DIR", ".svc"), "archive")),
        bucket: yield* text("SVC_PITR_BUCKET", undefined),
        schedule: yield* cron("SVC_PITR_BASE_CRON", "0 2 * * *"),
        keep: yield* duration("SVC_PITR_KEEP", 7 * 86_400_000),
        drills: yield* flag("SVC_PITR_DRILL", true),
        maxLog: yield* archiveLogLimit
      })
    })
  )
}
