import { Effect, Latch, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { BackupId, restoreLabel } from "../../domain/backups/Backup.ts"
import { type Conflict, type Unavailable } from "../../domain/errors.ts"
import { contentDifferences } from "../../domain/dumps/Contents.ts"
import { backupVerifyLock } from "../../domain/sql/AdvisoryLocks.ts"
import { Branches } from "../branches/Branches.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { logFailure, onOwnTables, queryRows } from "../OwnTables.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { type DumpTool, DumpTools, type RestoreTarget } from "../ports/DumpTools.ts"
import { storedReason } from "./Records.ts"
import { BackupSettings, withinBackupTimeout } from "./Settings.ts"
import { type BackupSource, type BackupSources } from "./Sources.ts"

/** The check runs without a notification too: another process may have been killed while it verified. */
const checkEvery = "30 seconds"

/** How often a backup may be begun to be verified, when the service ends meanwhile. */
const maxAttempts = 3

/** How often a verification reports, and after how long without a report its process has ended. */
const reportEvery = "10 seconds"
const lost = "interval '3 minutes'"

/** Bytes that stay free for the main database in addition to a restore, and how often that is checked. */
const reserve = 1024 * 1024 * 1024
const measureEvery = "2 seconds"

const Wanted = Schema.Struct({
  id: BackupId,
  label: Schema.String,
  file: Schema.String,
  size: Schema.Int
})

type Outcome = readonly ["passed" | "failed" | "skipped", string | null]

/**
 * Restores backups into temporary databases, in the background, one at a time over all replicas, and compares their
 * content, as pg_dump writes it, with that of the file: the rows and statements that the backup's snapshot had.
 */
export const makeBackupVerification = (sources: BackupSources) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const branches = yield* Branches
    const files = yield* BackupFiles
    const tools = yield* DumpTools
    const { timeout, verify } = yield* BackupSettings
    const wakeUp = yield* Latch.make(false)
    const wanted = queryRows(sql, Wanted)
    const meters = yield* CurrentMeters
    const counted = {
      passed: meters.counter("svc_backup_verifications_total", { outcome: "passed" }),
      failed: meters.counter("svc_backup_verifications_total", { outcome: "failed" }),
      skipped: meters.counter("svc_backup_verifications_total", { outcome: "skipped" })
    }

    /** Why the disk has too little space; a restore, its log, its dump and sorting take more than the database does. */
    const lacks = (times: number) =>
      Effect.map(branches.room, ({ free, size }) => {
        if (free === undefined)
          return verify === "auto" ? "the free space of the server's disk is unknown (SVC_BACKUP_VERIFY)" : undefined
        const needed = times * size + reserve
        return free < needed
          ? `it takes ${needed} bytes of free space on the server's disk, which has ${free}`
          : undefined
      })

    const fillsUp = Effect.gen(function* () {
      for (;;) {
        yield* Effect.sleep(measureEvery)
        const short = yield* Effect.orElseSucceed(lacks(0), () => undefined)
        if (short !== undefined) return ["skipped", `stopped, ${short}`] satisfies Outcome
      }
    })

    const compare = (source: BackupSource, tool: DumpTool, target: RestoreTarget) =>
      Effect.gen(function* () {
        const file = yield* source.local(0)
        yield* tool.restore(file, target, () => Effect.void)
        // If this process is killed, the file is removed with the database, by its name.
        const name = `${target.database}.dump`
        yield* Effect.addFinalizer(() => Effect.ignore(files.remove(name)))
        const again = files.path(name)
        yield* tool.dump(target.database, again, () => Effect.void)
        const differences = contentDifferences(yield* tool.contents(file), yield* tool.contents(again))
        return (differences.length === 0 ? ["passed", null] : ["failed", differences.join("; ")]) satisfies Outcome
      }).pipe(
        Effect.scoped,
        withinBackupTimeout(timeout),
        Effect.catchTag("DumpFailed", ({ reason }) => Effect.succeed<Outcome>(["failed", reason]))
      )

    const report = (id: BackupId) =>
      onOwnTables(sql.unsafe("update svc.backups set verify_seen = now() where id = $1", [id])).pipe(
        // The next one makes up for it.
        Effect.ignore,
        Effect.delay(reportEvery),
        Effect.forever
      )

    const check = (id: BackupId, label: string): Effect.Effect<Outcome, Unavailable | Conflict> =>
      Effect.gen(function* () {
        const short = yield* lacks(2)
        if (short !== undefined) return ["skipped", short] satisfies Outcome
        const source = yield* sources.find(id)
        const tool = yield* tools.reader(source.format)
        return yield* branches.temporary(restoreLabel(label), (target) =>
          Effect.raceAllFirst([compare(source, tool, target), fillsUp, report(id)])
        )
      }).pipe(
        Effect.catchTags({
          DumpFailed: ({ reason }) => Effect.succeed<Outcome>(["failed", reason]),
          Forbidden: ({ details, error }) => Effect.succeed<Outcome>(["skipped", `${error}: ${String(details)}`])
        }),
        Effect.catchIf(
          (error) => error._tag !== "Unavailable" && error._tag !== "Conflict",
          ({ error }) => Effect.succeed<Outcome>(["failed", error])
        )
      )

    const record = (id: BackupId, [outcome, reason]: Outcome) =>
      onOwnTables(
        sql.unsafe(
          `update svc.backups set verification = $2, verify_error = $3,
             verified_at = case when $2 = 'skipped' then null else now() end
           where id = $1`,
          [id, outcome, reason === null ? null : storedReason(reason)]
        )
      )

    const waiting = `status = 'completed' and (verification = 'waiting'
      or verification = 'running' and verify_seen < now() - ${lost})`

    /** Claims the oldest one whose file is here, unless another one is being verified. */
    const next = Effect.gen(function* () {
      const rows = yield* onOwnTables(
        wanted(
          `select id, coalesce(full_label, label) as label, file_name as file, size_bytes::float8 as size
           from svc.backups where ${waiting} order by id`
        )
      )
      for (const row of rows) {
        if ((yield* files.size(row.file)) !== row.size) continue
        const [claimed] = yield* onOwnTables(
          sql.withTransaction(
            Effect.andThen(
              sql.unsafe(`select pg_advisory_xact_lock(${backupVerifyLock})`),
              sql.unsafe<{ readonly attempts: number }>(
                `update svc.backups set verification = 'running', verify_seen = now(), verify_attempts = verify_attempts + 1
                 where id = $1 and ${waiting} and not exists (
                   select from svc.backups o where o.verification = 'running' and o.verify_seen >= now() - ${lost})
                 returning verify_attempts as attempts`,
                [row.id]
              )
            )
          )
        )
        return claimed === undefined ? undefined : { ...row, attempts: claimed.attempts }
      }
      return undefined
    })

    /** Puts it back. `counts`: whether that was an attempt. */
    const postpone = (id: BackupId, counts: boolean) =>
      onOwnTables(
        sql.unsafe(
          `update svc.backups set verification = 'waiting', verify_attempts = verify_attempts - $2::int
           where id = $1 and verification = 'running'`,
          [id, counts ? 0 : 1]
        )
      )

    const verifyOne = Effect.fnUntraced(function* ({
      attempts,
      id,
      label
    }: typeof Wanted.Type & { readonly attempts: number }) {
      const outcome: Outcome =
        attempts > maxAttempts
          ? ["failed", `It was broken off ${maxAttempts} times, as when the service or the database end`]
          : yield* check(id, label).pipe(
              // A branch is being created, or the database is away.
              Effect.tapError(() => postpone(id, false)),
              Effect.onInterrupt(() => Effect.ignore(postpone(id, false)))
            )
      const [what, reason] = outcome
      if (what === "failed" && attempts < maxAttempts && /connection/i.test(reason ?? "")) {
        yield* Effect.logWarning(`Failed to verify backup ${id}; will retry: ${reason}`)
        return yield* postpone(id, true)
      }
      yield* record(id, outcome)
      counted[what]()
      const text = `Backup ${id} ${what === "skipped" ? "was not verified" : `${what} its verification`}`
      const whole = reason === null ? text : `${text}: ${reason}`
      return yield* what === "failed" ? Effect.logError(whole) : Effect.logInfo(whole)
    })

    /** Withdraws verifications that another setting planned, which would wait for ever with `off`. */
    const withdraw = onOwnTables(
      sql.unsafe("update svc.backups set verification = null where verification = 'waiting'")
    )

    const verifyAll = Effect.gen(function* () {
      for (let row = yield* next; row !== undefined; row = yield* next) yield* verifyOne(row)
    })
    const round: Effect.Effect<unknown, Unavailable | Conflict> = verify === "off" ? withdraw : verifyAll

    yield* round.pipe(
      Effect.catchTag(["Unavailable", "Conflict"], ({ error }) =>
        Effect.logDebug(`A backup is verified later: ${error}`)
      ),
      Effect.catchCause(logFailure("Failed to verify backups")),
      Effect.andThen(Effect.timeoutOption(wakeUp.await, checkEvery)),
      Effect.forever,
      Effect.forkScoped
    )

    return {
      /** Whether a scheduled or a caller's backup is to be verified. */
      wants: (scheduled: boolean) => verify === "all" || (verify !== "off" && scheduled),
      /** Notifies that there is a backup to verify. */
      notify: wakeUp.release
    }
  })

export type BackupVerification = Effect.Success<ReturnType<typeof makeBackupVerification>>
