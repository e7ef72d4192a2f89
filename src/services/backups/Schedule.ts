import { Clock, Cron, Effect, Schedule } from "effect"
import { scheduledLabel } from "../../domain/backups/Backup.ts"
import { type Conflict, type Unavailable } from "../../domain/errors.ts"
import { type BackupRun } from "./Runs.ts"

/** Retries while two other backups are in progress, or the database is unavailable. */
const retryEvery = "30 seconds"
const retries = 20

/** The longest sleep in ms: timers can't be set for months, and clocks are adjusted. */
const maxSleep = 60_000

/** The functions of backups that the schedule uses. */
interface Scheduled {
  readonly start: (label: string, slot: number) => Effect.Effect<BackupRun | undefined, Conflict | Unavailable>
  readonly missed: (label: string, slot: number, reason: string) => Effect.Effect<void, Unavailable>
  readonly retain: Effect.Effect<void, Unavailable>
}

/** Makes a backup at each slot of the schedule, and removes old ones. The slot of a record is unique over all replicas. */
export const runBackupSchedule = (schedule: Cron.Cron, { missed, retain, start }: Scheduled) => {
  const until = (slot: number) =>
    Effect.gen(function* () {
      for (;;) {
        const left = slot - (yield* Clock.currentTimeMillis)
        if (left <= 0) return
        yield* Effect.sleep(Math.min(left, maxSleep))
      }
    })

  const make = (slot: number) => {
    const label = scheduledLabel(slot)
    return start(label, slot).pipe(
      Effect.retry({ times: retries, schedule: Schedule.spaced(retryEvery) }),
      Effect.flatMap((run) => (run === undefined ? Effect.succeed(false) : run.done)),
      Effect.flatMap((complete) => (complete ? retain : Effect.void)),
      Effect.catch((failure) =>
        Effect.andThen(
          Effect.logWarning(`Failed to make the backup "${label}": ${failure.error}`),
          missed(label, slot, failure.error)
        )
      ),
      Effect.catchCause((cause) => Effect.logError(`Failed to make the backup "${label}"`, cause))
    )
  }

  return Effect.gen(function* () {
    let after = new Date(yield* Clock.currentTimeMillis)
    for (;;) {
      const slot = Cron.next(schedule, after)
      yield* until(slot.getTime())
      yield* Effect.forkScoped(make(slot.getTime()))
      // Slots that were missed meanwhile are skipped.
      after = new Date(Math.max(slot.getTime(), yield* Clock.currentTimeMillis))
    }
  }).pipe(Effect.forkScoped)
}
