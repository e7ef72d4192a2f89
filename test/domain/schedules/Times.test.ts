import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { dueTimes } from "../../../src/domain/schedules/Plan.ts"
import { fromPgCron, nextTimes, parseTimes } from "../../../src/domain/schedules/Times.ts"

const times = (expression: string, zone = "UTC") => Result.getOrThrow(parseTimes(expression, zone))
const after = (expression: string, zone: string, from: string, count: number) =>
  nextTimes(times(expression, zone), Date.parse(from), count).map((at) => new Date(at).toISOString().slice(5, 19))

describe("times", () => {
  it("come when the clock goes forward over them, and only once that day", () => {
    assert.deepStrictEqual(after("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2), [
      "03-29T01:00:00",
      "03-30T00:30:00"
    ])
    assert.deepStrictEqual(after("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2), [
      "03-08T07:00:00",
      "03-09T06:30:00"
    ])
    assert.deepStrictEqual(after("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2), [
      "10-03T15:30:00",
      "10-04T15:15:00"
    ])
  })

  it("come once when the clock goes back over them", () => {
    assert.deepStrictEqual(after("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), [
      "10-25T00:30:00",
      "10-26T01:30:00"
    ])
    assert.deepStrictEqual(after("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2), [
      "11-01T05:30:00",
      "11-02T06:30:00"
    ])
    assert.deepStrictEqual(after("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T16:00:00Z", 2), [
      "04-04T14:45:00",
      "04-05T15:15:00"
    ])
  })

  it("go on through both hours when the clock goes back, and without a break when it goes forward", () => {
    assert.deepStrictEqual(after("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", 5), [
      "10-25T00:00:00",
      "10-25T00:30:00",
      "10-25T01:00:00",
      "10-25T01:30:00",
      "10-25T02:00:00"
    ])
    assert.deepStrictEqual(after("*/20 * * * * *", "America/New_York", "2026-11-01T05:59:30Z", 3), [
      "11-01T05:59:40",
      "11-01T06:00:00",
      "11-01T06:00:20"
    ])
    assert.deepStrictEqual(after("*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:50:00Z", 3), [
      "04-04T15:00:00",
      "04-04T15:15:00",
      "04-04T15:30:00"
    ])
    assert.deepStrictEqual(after("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", 3), [
      "03-29T00:30:00",
      "03-29T01:00:00",
      "03-29T01:30:00"
    ])
  })

  it("are refused with a sentence", () => {
    for (const [expression, part] of [
      ["60 * * * *", "minute"],
      ["* * * *", "five fields"],
      ["0 0 30 2 *", "never"],
      ["2026-01-01T00:00:00", "five fields"],
      ["60 seconds", "1 to 59"],
      ["@reboot", "@reboot"],
      ["1+2 * * * *", "five fields"],
      ["0 0 1 1 * * 2020", "five fields"]
    ] as const) {
      assert.include(Result.getOrThrow(Result.flip(parseTimes(expression, "UTC"))), part, expression)
    }
    assert.include(Result.getOrThrow(Result.flip(parseTimes("@daily", "Mars/Base"))), "time zone")
  })

  it("are read as pg_cron does", () => {
    const zone = "GMT"
    assert.deepStrictEqual(after(fromPgCron("0 12 $ * *"), zone, "2028-02-01T00:00:00Z", 2), [
      "02-29T12:00:00",
      "03-31T12:00:00"
    ])
    assert.deepStrictEqual(after(fromPgCron("30 seconds"), zone, "2026-01-01T00:00:10Z", 2), [
      "01-01T00:00:30",
      "01-01T00:01:00"
    ])
    // Either day, if both are restricted.
    assert.deepStrictEqual(after("0 0 1 * 1", zone, "2026-04-28T00:00:00Z", 2), ["05-01T00:00:00", "05-04T00:00:00"])
  })
})

describe("due times", () => {
  const at = Date.UTC(2026, 0, 1)
  const minutely = times("* * * * *")

  it("run when they come", () => {
    for (const catchUp of ["skip", "once", "all"] as const) {
      assert.deepStrictEqual(dueTimes(minutely, at, catchUp, at + 20), {
        run: [at],
        missed: undefined,
        next: at + 60_000
      })
    }
  })

  it("are caught up by the policy", () => {
    const now = at + 3 * 3_600_000 + 30_000
    const last = at + 3 * 3_600_000
    assert.deepStrictEqual(dueTimes(minutely, at, "once", now), {
      run: [last],
      missed: last - 60_000,
      next: last + 60_000
    })
    const all = dueTimes(minutely, at, "all", now)
    assert.strictEqual(all.run.length, 100)
    assert.strictEqual(all.run.at(-1), last)
    const daily = times("@daily")
    assert.deepStrictEqual(dueTimes(daily, at, "skip", at + 3_600_000), {
      run: [],
      missed: at,
      next: at + 86_400_000
    })
    assert.deepStrictEqual(
      dueTimes(daily, at, "all", at + 2 * 86_400_000).run,
      [0, 1, 2].map((day) => at + day * 86_400_000)
    )
  })

  it("of years ago are not counted one by one", () => {
    const everySecond = times("* * * * * *")
    const now = at + 3 * 365 * 86_400_000
    assert.strictEqual(dueTimes(everySecond, at, "once", now).run[0], now)
  })

  it("that are still to come, because the clock was set back, wait", () => {
    assert.deepStrictEqual(dueTimes(minutely, at + 3_600_000, "all", at).run, [])
    assert.strictEqual(dueTimes(minutely, at + 3_600_000, "all", at).next, at + 3_600_000)
  })
})
