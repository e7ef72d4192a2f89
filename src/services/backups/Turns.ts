import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { backupRunLock, backupsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { type BackupId } from "../../domain/backups/Backup.ts"
import { Conflict, Unavailable } from "../../domain/errors.ts"
import { acquireAdvisoryLocks, queryOn } from "../AdvisoryLock.ts"

/** How many may be made at a time, over all replicas (spec: Limits). */
const limit = 2

/** How long to wait for a branch to be copied, and how often to look, in ms. */
const patienceMillis = 60_000
const pauseMillis = 250

const tooMany = new Conflict({
  error: `${limit} backups are being made already`,
  code: "BACKUP_LIMIT",
  hint: "Try again when one of them is done",
  retry_after: 30
})

const busy = new Unavailable({
  error: "The database is being copied into a branch",
  code: "BACKUP_SOURCE_BUSY",
  hint: "Try again when that is done",
  retry_after: 10
})

/** What a new record says. */
export interface BackupBeginning {
  readonly label: string
  /** When it is due, in ms since 1970; undefined when nobody but a caller asked for it. */
  readonly slot: number | undefined
  readonly strategy: string
  readonly toolVersion: string
  readonly format: string
  readonly file: string
  /** Bucket that is to have a copy. */
  readonly bucket: string | undefined
}

/** A backup that counts as being made until its scope closes. */
export interface BackupTurn {
  readonly id: BackupId
  /** Tells how far it is, in percent. Gives what has become of it meanwhile. */
  readonly report: (percent: number) => Effect.Effect<"going on" | "cancelled" | "over", Unavailable>
}

/** Who may make a backup: the record is there exactly as long as a lock that goes with its maker. */
export class BackupTurns extends Context.Service<
  BackupTurns,
  {
    /**
     * Undefined when somebody else has the slot. 409 `BACKUP_LIMIT`; 503 `BACKUP_SOURCE_BUSY` when a branch is copied for
     * over a minute.
     */
    readonly begin: (
      given: BackupBeginning
    ) => Effect.Effect<BackupTurn | undefined, Conflict | Unavailable, Scope.Scope>
  }
>()("svc/services/BackupTurns") {
  static readonly layer = Layer.effect(
    BackupTurns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const begin = Effect.fn("BackupTurns.begin")(function* (given: BackupBeginning) {
        const ask = queryOn(
          yield* acquireAdvisoryLocks(sql, [backupsLock], {
            shared: true,
            patience: patienceMillis,
            pause: pauseMillis,
            busy
          })
        )
        const record = Effect.gen(function* () {
          yield* ask("begin")
          // One after the other, so that the limit holds.
          yield* ask("lock table svc.backups in share row exclusive mode")
          const [row] = yield* ask("select count(*)::int as n from svc.backups where status = 'in_progress'")
          if (Number(row?.["n"]) >= limit) return yield* tooMany
          const [made] = yield* ask(
            `insert into svc.backups (label, scheduled_for, strategy, tool_version, server_version, format, file_name, copy_to)
             values ($1, to_timestamp($2::float8 / 1000), $3, $4, current_setting('server_version'), $5, $6, $7)
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
            yield* ask("rollback")
            return undefined
          }
          const id = Number(made["id"]) as BackupId
          yield* ask(`select pg_advisory_lock(${backupRunLock}, $1)`, [id])
          yield* ask("commit")
          return id
        })
        const id = yield* Effect.onError(Effect.uninterruptible(record), () => Effect.ignore(ask("rollback")))
        if (id === undefined) return undefined

        const report: BackupTurn["report"] = (percent) =>
          Effect.map(
            ask(
              `update svc.backups set progress = greatest(progress, $2::int) where id = $1 and status = 'in_progress'
               returning cancelled`,
              [id, percent]
            ),
            ([row]) => (row === undefined ? "over" : row["cancelled"] === true ? "cancelled" : "going on")
          )
        return { id, report }
      })

      return BackupTurns.of({ begin })
    })
  )
}
