/** Share of a step that an attempt may come earlier or later, so that what failed together is not tried together. */
const jitter = 0.1

/** Seconds, or an HTTP date (RFC 9110 10.2.3), as ms from now; undefined for anything else. */
export const retryAfterMillis = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = /^[A-Z][a-z]{2},? /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/**
 * How long to wait after a failed attempt, in ms; null when it was the last.
 *
 * @param steps ms before each attempt after the first
 * @param attempt that failed, from 1
 * @param retryAfter what the receiver asked for, in ms: makes the wait longer, but at most twice the step
 * @param random 0 to 1
 */
export const retryDelay = (
  steps: ReadonlyArray<number>,
  attempt: number,
  retryAfter: number | undefined,
  random: number
): number | null => {
  const step = steps[attempt - 1]
  if (step === undefined) return null
  const jittered = step * (1 + jitter * (2 * random - 1))
  return Math.round(Math.max(jittered, Math.min(retryAfter ?? 0, 2 * step)))
}
