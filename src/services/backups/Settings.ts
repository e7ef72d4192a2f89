import { Context, Effect, Layer } from "effect"
import { join, resolve } from "node:path"
import { DumpFailed } from "../ports/DumpTools.ts"
import { type KeptGenerations, parseGenerations } from "../../domain/backups/Generations.ts"
import { type CronSetting, cron, duration, oneOf, SettingError, text } from "../../domain/Settings.ts"

export type BackupVerify = "auto" | "scheduled" | "all" | "off"

/** SVC_BACKUP_* and PG_BIN_DIR, read before anything is started (docs/configuration.md). */
export class BackupSettings extends Context.Service<
  BackupSettings,
  {
    /** Absolute; created with the first backup. */
    readonly directory: string
    /** Directory that is searched first for pg_dump and pg_restore. */
    readonly programs: string | undefined
    /** Bucket that receives a copy of each backup. */
    readonly bucket: string | undefined
    /** The schedule of backups, in UTC. */
    readonly schedule: CronSetting | undefined
    /** Which scheduled backups are kept. */
    readonly keep: KeptGenerations
    /** The backups that are verified by a trial restore; `auto`: scheduled ones, if the server's disk has the space. */
    readonly verify: BackupVerify
    /** Time limit of one dump or restore, in ms. */
    readonly timeout: number
  }
>()("svc/services/BackupSettings") {
  static readonly layer = Layer.effect(
    BackupSettings,
    Effect.gen(function* () {
      const directory = yield* text("SVC_BACKUP_DIR", undefined)
      return BackupSettings.of({
        directory: resolve(directory ?? join(yield* text("SVC_DATA_DIR", ".svc"), "backups")),
        programs: yield* text("PG_BIN_DIR", undefined),
        bucket: yield* text("SVC_BACKUP_BUCKET", undefined),
        schedule: yield* cron("SVC_BACKUP_CRON", undefined),
        keep: yield* generations("SVC_BACKUP_KEEP", "7"),
        verify: yield* oneOf<BackupVerify>("SVC_BACKUP_VERIFY", "auto", ["auto", "scheduled", "all", "off"]),
        timeout: yield* duration("SVC_BACKUP_TIMEOUT", 6 * 3_600_000)
      })
    })
  )
}

/** Limits a dump or a restore to the setting `timeout`. */
export const withinBackupTimeout =
  (timeout: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.timeoutOrElse(effect, {
      duration: timeout,
      orElse: () => Effect.fail(new DumpFailed({ reason: `It took over ${timeout / 1000} s (SVC_BACKUP_TIMEOUT)` }))
    })

const generations = Effect.fnUntraced(function* (name: string, fallback: string) {
  const given = yield* text(name, fallback)
  const parsed = parseGenerations(given)
  if (parsed !== undefined) return parsed
  return yield* new SettingError({
    message: `${name} must be a whole number from 0 to 10000, or generations such as 7d,4w,6m, but it is "${given}"`
  })
})
