import { Cron } from "croner"
import { Result } from "effect"

/**
 * The times of a schedule, in ms since 1970. Summer time is as cron's users expect: a time that the change skips comes when
 * the change does, a fixed time that comes twice counts once, and what repeats within an hour goes on through both. Effect's
 * `Cron` is not used, because it has no time at all during the second one of the two hours.
 */
export interface Times {
  /** The first time after `after`; undefined if there is none. */
  readonly next: (after: number) => number | undefined
}

const seconds = /^([1-9]\d?) seconds?$/i
const allowed = /^(@[a-z]+|[\dA-Za-z*,/?#-]+( [\dA-Za-z*,/?#-]+){4,5})$/

const help =
  "write five fields such as 0 3 * * *, six with seconds first, @hourly, @daily, @weekly, @monthly, @yearly, or 1 to 59 seconds"

/** Whether it is the name of a time zone, not an offset, which has no summer time. */
const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "" && /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

const every = (count: number): Times => {
  const step = count * 1000
  return { next: (after) => (Math.floor(after / step) + 1) * step }
}

/** Reads an expression; fails with a sentence. */
export const parseTimes = (expression: string, timezone: string): Result.Result<Times, string> => {
  const text = expression.trim().replaceAll(/\s+/g, " ")
  if (!isTimeZone(timezone))
    return Result.fail(`The time zone "${timezone}" is unknown: write one such as Europe/Berlin`)
  const interval = seconds.exec(text)
  if (interval !== null) {
    const count = Number(interval[1])
    return count < 60 ? Result.succeed(every(count)) : Result.fail(`"${text}" is invalid: ${help}`)
  }
  if (!allowed.test(text)) return Result.fail(`"${text}" is not a schedule: ${help}`)
  try {
    const cron = new Cron(text, { timezone, paused: true, mode: text.startsWith("@") ? "auto" : "5-or-6-parts" })
    const next = (after: number) => cron.nextRun(new Date(after))?.getTime()
    return next(0) === undefined ? Result.fail(`"${text}" never comes: there is no such day`) : Result.succeed({ next })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^CronPattern: /, "") : String(cause)
    return Result.fail(`"${text}" is not a schedule (${reason}): ${help}`)
  }
}

/** An expression of pg_cron, in which `$` is the last day of the month, as one that `parseTimes` reads. */
export const fromPgCron = (expression: string): string => {
  const fields = expression.trim().split(/\s+/)
  if (fields.length !== 5) return expression
  return fields.map((field, index) => (index === 2 ? field.replaceAll("$", "L") : field)).join(" ")
}

/** The times after `after`, at most `count`, and none after `until`. */
export const nextTimes = (
  times: Times,
  after: number,
  count: number,
  until = Number.POSITIVE_INFINITY
): ReadonlyArray<number> => {
  const found: Array<number> = []
  let at = times.next(after)
  while (at !== undefined && at <= until && found.length < count) {
    found.push(at)
    at = times.next(at)
  }
  return found
}
