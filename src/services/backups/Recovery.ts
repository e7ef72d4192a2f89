import { Context, Effect, Layer } from "effect"
import { type Branch, branchDumpFile } from "../../domain/branches/Branch.ts"
import {
  type Conflict,
  type Forbidden,
  type NotImplemented,
  type Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import { instantOf, type PointInTime, pointInTimeLabel, type RecoveryState } from "../../domain/recovery/Recovery.ts"
import { type ChangesSince } from "../../domain/recovery/TableChanges.ts"
import { BackupSettings, withinBackupTimeout } from "./Settings.ts"
import { Branches } from "../branches/Branches.ts"
import { type Fill } from "../branches/Filling.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { DumpTools } from "../ports/DumpTools.ts"
import { LogArchive } from "../ports/recovery/LogArchive.ts"
import { ArchiveHealth } from "../recovery/ArchiveHealth.ts"
import { RecoverySettings } from "../recovery/Settings.ts"
import { TableCounts } from "../recovery/TableCounts.ts"
import { makeUnprotected } from "../recovery/Unprotected.ts"

/** A recovery in the background. Both branches show the password. */
interface StartedRecovery {
  readonly branch: Branch
  /** Returns once the branch can be used. 422 `RESTORE_FAILED`, with the reason in `details`. */
  readonly done: Effect.Effect<Branch, Forbidden | Unavailable | Unprocessable>
}

const iso = (millis: number) => new Date(millis).toISOString()

/** The parts of a recovery by time: from the archive to a dump, and from there to the branch. */
const dumping = 0.7

/** The database as it was at a time (design: point-in-time recovery). */
export class Recovery extends Context.Service<
  Recovery,
  {
    /** 501 `PITR_NOT_CONFIGURED`, 503 `PITR_ARCHIVE_UNUSABLE`. */
    readonly state: Effect.Effect<RecoveryState, NotImplemented | Unavailable>
    /**
     * Starts a recovery into a branch. Fails at once as `LogArchive.recovery` and `Branches.create` do. Continues when the
     * caller leaves; a failure leaves no branch.
     */
    readonly start: (
      given: PointInTime
    ) => Effect.Effect<StartedRecovery, NotImplemented | Unprocessable | Conflict | Forbidden | Unavailable>
    /** As `TableCounts.since`, and 501 `PITR_NOT_CONFIGURED`. */
    readonly changes: (since: number) => Effect.Effect<ChangesSince, NotImplemented | Unprocessable | Unavailable>
    readonly makeKey: LogArchive["Service"]["makeRecoveryKey"]
    readonly confirmKey: LogArchive["Service"]["confirmRecoveryKey"]
  }
>()("svc/services/Recovery") {
  static readonly layer = Layer.effect(
    Recovery,
    Effect.gen(function* () {
      const archive = yield* LogArchive
      const branches = yield* Branches
      const files = yield* BackupFiles
      const tools = yield* DumpTools
      const { bucket: copies, timeout } = yield* BackupSettings
      const { bucket, enabled, keep } = yield* RecoverySettings
      const counts = yield* TableCounts
      const health = yield* ArchiveHealth
      const unprotected = yield* makeUnprotected([bucket, copies])

      const state = Effect.gen(function* () {
        const now = yield* archive.state
        const seen = yield* health.seen
        const missing = yield* unprotected
        const [first, last] = [now.spans[0], now.spans.at(-1)]
        return {
          earliest: first === undefined ? null : iso(first.from),
          latest: last === undefined ? null : iso(last.to),
          lag_seconds: last === undefined ? null : Math.max(0, now.now - last.to) / 1000,
          base_backups: now.bases.map(({ bytes, ended_at, id, started_at, stored_bytes }) => ({
            id,
            started_at,
            completed_at: ended_at,
            size_bytes: bytes,
            stored_bytes
          })),
          spans: now.spans.map(({ from, to }) => ({ from: iso(from), to: iso(to) })),
          place: now.place,
          archiving: now.active,
          problem: now.problem ?? null,
          retained_bytes: now.retained,
          limit_bytes: now.limit ?? null,
          objects:
            now.objects === undefined
              ? null
              : {
                  archived_until: now.objects.until === undefined ? null : iso(now.objects.until),
                  problem: now.objects.problem ?? null
                },
          recovery_key: { made: now.recoveryKey.made, kept_at: now.recoveryKey.keptAt },
          health: seen?.state ?? null,
          keep_seconds: keep / 1000,
          same_disk: now.sameDisk,
          ...missing
        } satisfies RecoveryState
      })

      const start = Effect.fn("Recovery.start")(function* ({ target_time, ...options }: PointInTime) {
        const target = instantOf(target_time)
        const dumpThen = yield* archive.recovery(target)
        yield* files.ready
        const fill: Fill = (branch, report) =>
          Effect.gen(function* () {
            const file = files.path(branchDumpFile(branch.database))
            yield* Effect.addFinalizer(() => Effect.ignore(files.remove(branchDumpFile(branch.database))))
            const format = yield* dumpThen(file, (fraction) => report(dumping * fraction))
            const tool = yield* tools.reader(format)
            yield* tool.restore(file, branch, (fraction) => report(dumping + (1 - dumping) * fraction))
          }).pipe(Effect.scoped, withinBackupTimeout(timeout))
        const { branch, done } = yield* branches.restore(
          {
            ...options,
            label: options.label ?? pointInTimeLabel(target),
            sourceBackupId: null,
            objectsAt: new Date(target)
          },
          fill
        )
        return {
          branch,
          done: Effect.catchTag(done, "DumpFailed", ({ code, reason }) =>
            Effect.fail(
              new Unprocessable({
                error: "The database could not be recovered to that time",
                code: code ?? "RESTORE_FAILED",
                details: reason
              })
            )
          )
        } satisfies StartedRecovery
      })

      const changes = (since: number) =>
        enabled ? counts.since(since) : Effect.andThen(archive.state, counts.since(since))

      return Recovery.of({
        state,
        start,
        changes,
        makeKey: archive.makeRecoveryKey,
        confirmKey: archive.confirmRecoveryKey
      })
    })
  )
}
