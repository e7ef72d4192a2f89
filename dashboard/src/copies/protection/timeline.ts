import { gapsOf, type Span } from "./moments.ts"

interface Mark<Of> {
  /** Per cent of the line. */
  readonly at: number
  readonly of: Of
}

export interface Line<Base, Drill> {
  readonly from: number
  readonly to: number
  readonly spans: ReadonlyArray<Mark<Span> & { readonly width: number }>
  readonly gaps: ReadonlyArray<Mark<Span> & { readonly width: number }>
  readonly bases: ReadonlyArray<Mark<Base>>
  readonly drills: ReadonlyArray<Mark<Drill>>
  /** Beginnings of days or hours, by their times. */
  readonly ticks: ReadonlyArray<Mark<number>>
}

interface Given<Base, Drill> {
  readonly now: number
  /** How far back a restore can reach, in ms. */
  readonly keep: number
  readonly spans: ReadonlyArray<Span>
  readonly bases: ReadonlyArray<Base>
  readonly drills: ReadonlyArray<Drill>
}

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** An archive that has just begun is not drawn across the whole line. */
const shortest = 10 * minute
/** Between ticks, of which the smallest with few enough ticks is taken. */
const steps = [
  2 * minute,
  5 * minute,
  15 * minute,
  hour,
  3 * hour,
  6 * hour,
  day,
  2 * day,
  7 * day,
  30 * day,
  365 * day
]
const maxTicks = 9

/**
 * The line ends now, and begins with what can be restored, but at most `keep` and a day before: the oldest base backup may
 * be older.
 */
export const lineOf = <Base extends { readonly completed_at: string }, Drill extends { readonly target_time: string }>({
  bases,
  drills,
  keep,
  now,
  spans
}: Given<Base, Drill>): Line<Base, Drill> => {
  const earliest = spans[0]?.from ?? now
  const to = Math.max(now, spans.at(-1)?.to ?? now)
  const from = Math.min(Math.max(earliest, to - keep - day), to - shortest)
  const place = (time: number) => ((Math.min(Math.max(time, from), to) - from) / (to - from)) * 100
  const stretch = (of: Span) => ({ at: place(of.from), width: place(of.to) - place(of.from), of })
  const within = (time: number) => time >= from && time <= to
  const marks = <Of>(all: ReadonlyArray<Of>, timeOf: (of: Of) => number) =>
    all.flatMap((of) => (within(timeOf(of)) ? [{ at: place(timeOf(of)), of }] : []))
  const step = steps.find((step) => (to - from) / step <= maxTicks) ?? 365 * day
  const ticks: Array<number> = []
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) ticks.push(time)
  return {
    from,
    to,
    spans: spans.filter((span) => span.to >= from).map(stretch),
    gaps: gapsOf(spans)
      .filter((gap) => gap.to >= from)
      .map(stretch),
    bases: marks(bases, ({ completed_at }) => Date.parse(completed_at)),
    drills: marks(drills, ({ target_time }) => Date.parse(target_time)),
    ticks: marks(ticks, (time) => time)
  }
}

/** The time at a part of the line, from 0 to 1, to the second; at a span if one is near. */
export const timeAt = ({ from, spans, to }: Pick<Line<unknown, unknown>, "from" | "to" | "spans">, part: number) => {
  const time = Math.round((from + (to - from) * Math.min(Math.max(part, 0), 1)) / 1000) * 1000
  const clamped = spans.map(({ of }) => {
    const [first, last] = [Math.ceil(of.from / 1000) * 1000, Math.floor(of.to / 1000) * 1000]
    return Math.min(Math.max(time, first), Math.max(first, last))
  })
  return clamped.toSorted((a, b) => Math.abs(a - time) - Math.abs(b - time))[0] ?? time
}

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" })

/** Ticks that have their times below: "now" is at the end. */
export const hasText = ({ at }: { readonly at: number }) => at <= 88

/** A day, or the hour within it. */
export const tickText = (time: number) => (time % day === 0 ? days : clock).format(time)
