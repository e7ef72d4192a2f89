import { Clock, Cron, Effect, Layer, Schedule } from "effect"
import { scheduledLabel } from "../../domain/backups/Backup.ts"
import { BackupRecords } from "./Records.ts"
import { BackupRemoval } from "./Removal.ts"
import { BackupRuns } from "./Runs.ts"
import { BackupSettings } from "./Settings.ts"

/** While too many others are being made, or the database is away: how often it is tried again, and for how long. */
const againEvery = "30 seconds"
const tries = 20

/** Longest that is slept at a time, in ms: timers can't be set for months, and clocks are changed. */
const longestSleep = 60_000

/** Makes a backup whenever SVC_BACKUP_CRON says so, and removes old ones. Replicas meet at the record's slot. */
export const layerBackupSchedule = Layer.effectDiscard(
  Effect.gen(function* () {
    const { schedule } = yield* BackupSettings
    if (schedule === undefined) return
    const runs = yield* BackupRuns
    const records = yield* BackupRecords
    const removal = yield* BackupRemoval

    const until = (slot: number) =>
      Effect.gen(function* () {
        for (;;) {
          const left = slot - (yield* Clock.currentTimeMillis)
          if (left <= 0) return
          yield* Effect.sleep(Math.min(left, longestSleep))
        }
      })

    const made = (slot: number) => {
      const label = scheduledLabel(slot)
      return runs.start(label, slot).pipe(
        Effect.retry({ times: tries, schedule: Schedule.spaced(againEvery) }),
        Effect.flatMap((run) => (run === undefined ? Effect.succeed(false) : run.done)),
        Effect.flatMap((complete) => (complete ? removal.retain : Effect.void)),
        Effect.catch((failure) =>
          Effect.andThen(
            Effect.logWarning(`The backup "${label}" could not be made: ${failure.error}`),
            records.missed(label, slot, failure.error)
          )
        ),
        Effect.catchCause((cause) => Effect.logError(`The backup "${label}" could not be made`, cause))
      )
    }

    yield* Effect.gen(function* () {
      let after = new Date(yield* Clock.currentTimeMillis)
      for (;;) {
        const slot = Cron.next(schedule, after)
        yield* until(slot.getTime())
        yield* Effect.forkScoped(made(slot.getTime()))
        // What was slept through is not made up for.
        after = new Date(Math.max(slot.getTime(), yield* Clock.currentTimeMillis))
      }
    }).pipe(Effect.forkScoped)
  })
)
