import { assert, it } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { type BackupId } from "../../../src/domain/backups/Backup.ts"
import { parseTimes } from "../../../src/domain/schedules/Times.ts"
import { Conflict, Unavailable } from "../../../src/domain/errors.ts"
import { backupJob } from "../../../src/services/backups/Backups.ts"

type Start = Parameters<typeof backupJob>[1]["start"]

const done = (complete: boolean): ReturnType<Start> =>
  Effect.succeed({ id: 1 as BackupId, done: Effect.succeed(complete) })

/** Runs the schedule with the clock set to noon; returns the backups that it started and missed. */
const scheduled = (expression: string, start: (count: number) => ReturnType<Start> = () => done(true)) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2026, 10, 21, 12))
    const started: Array<string> = []
    const missed: Array<string> = []
    let retained = 0
    const job = backupJob(expression, {
      start: (label, slot) =>
        Effect.suspend(() => {
          started.push(`${label} ${slot}`)
          return start(started.length)
        }),
      missed: (label, slot, reason) => Effect.sync(() => void missed.push(`${label} ${slot} ${reason}`)),
      retain: Effect.sync(() => void retained++)
    })
    // The runner of the service does this on PostgreSQL.
    const times = Result.getOrThrow(parseTimes(job.times, "UTC"))
    yield* Effect.gen(function* () {
      for (;;) {
        const now = yield* Clock.currentTimeMillis
        const slot = times.next(now) ?? Number.POSITIVE_INFINITY
        yield* Effect.sleep(slot - now)
        yield* Effect.forkScoped(Effect.ignore(job.run(slot)))
      }
    }).pipe(Effect.forkScoped)
    return { started, missed, retained: () => retained }
  })

it.effect("makes a backup at each slot, labelled with it, and removes old ones when it is complete", () =>
  Effect.gen(function* () {
    const { missed, retained, started } = yield* scheduled("0 3 * * *")
    yield* TestClock.adjust("899 minutes")
    assert.deepStrictEqual(started, [])
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(started, [`scheduled 2026-11-22 03:00 UTC ${Date.UTC(2026, 10, 22, 3)}`])
    assert.strictEqual(retained(), 1)
    yield* TestClock.adjust("3 days")
    assert.deepStrictEqual(
      started.map((one) => one.slice(10, 26)),
      ["2026-11-22 03:00", "2026-11-23 03:00", "2026-11-24 03:00", "2026-11-25 03:00"]
    )
    assert.strictEqual(retained(), 4)
    assert.deepStrictEqual(missed, [])
  })
)

it.effect("keeps old backups when one fails, or another replica has the slot", () =>
  Effect.gen(function* () {
    const { retained, started } = yield* scheduled("*/10 * * * *", (count) =>
      count === 1 ? done(false) : Effect.undefined
    )
    yield* TestClock.adjust("20 minutes")
    assert.strictEqual(started.length, 2)
    assert.strictEqual(retained(), 0)
  })
)

it.effect("retries for ten minutes, and then records the failure", () =>
  Effect.gen(function* () {
    const busy = new Conflict({ error: "2 backups are already in progress", code: "BACKUP_LIMIT" })
    const late = yield* scheduled("0 13 * * *", (count) => (count < 5 ? Effect.fail(busy) : done(true)))
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(late.started.length, 1)
    yield* TestClock.adjust("2 minutes")
    assert.strictEqual(late.started.length, 5)
    assert.strictEqual(new Set(late.started).size, 1)
    assert.strictEqual(late.retained(), 1)

    const down = new Unavailable({ error: "The backup directory is unusable", code: "BACKUP_DIR_UNUSABLE" })
    const never = yield* scheduled("0 13 * * *", () => Effect.fail(down))
    yield* TestClock.adjust("1 hour")
    yield* TestClock.adjust("9 minutes")
    assert.deepStrictEqual(never.missed, [])
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(never.missed, [
      `scheduled 2026-11-21 13:00 UTC ${Date.UTC(2026, 10, 21, 13)} The backup directory is unusable`
    ])
    yield* TestClock.adjust("24 hours")
    assert.include(never.started.at(-1) ?? "", "2026-11-22 13:00")
  })
)
