import { moment } from "../../ui/format.ts"

/** A span of time that can be restored, in ms since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const spansOf = (spans: ReadonlyArray<{ readonly from: string; readonly to: string }>): ReadonlyArray<Span> =>
  spans.map(({ from, to }) => ({ from: Date.parse(from), to: Date.parse(to) }))

/** The times between spans. */
export const gapsOf = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> =>
  spans.slice(1).map(({ from }, at) => ({ from: spans[at]?.to ?? from, to: from }))

/** The first and the last whole second that can be restored; undefined while no whole second can be. */
export const endsOf = (spans: ReadonlyArray<Span>): Span | undefined => {
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const ends = { from: Math.ceil(first.from / 1000) * 1000, to: Math.floor(last.to / 1000) * 1000 }
  return ends.from <= ends.to ? ends : undefined
}

/** The value of a field for a date and a time to the second, in UTC. */
export const fieldText = (at: number) => new Date(at).toISOString().slice(0, 19)

/** The reverse; undefined for a value that is not complete. */
export const fieldMoment = (text: string): number | undefined => {
  const at = Date.parse(`${text}Z`)
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(text) && !Number.isNaN(at) ? at : undefined
}

/** A time as logs and programs write it, with a zone or in UTC; undefined for another text. */
export const pastedMoment = (text: string): number | undefined => {
  const [, day, time, zone = "Z"] =
    /^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?\s*$/i.exec(text) ?? []
  if (day === undefined || time === undefined) return undefined
  const offset = /^(?:z|utc)$/i.test(zone) ? "Z" : `${zone.slice(0, 3)}:${zone.replace(":", "").slice(3) || "00"}`
  const at = Date.parse(`${day}T${time.replace(",", ".")}${offset}`)
  return Number.isNaN(at) ? undefined : Math.floor(at / 1000) * 1000
}

/** Why a time can't be restored; undefined if it can. */
export const problemOf = (at: number | undefined, spans: ReadonlyArray<Span>): string | undefined => {
  const ends = endsOf(spans)
  if (ends === undefined) return "Nothing can be restored yet"
  if (at === undefined) return "Enter a date and a time"
  if (at < ends.from) return `The earliest time that can be restored is ${momentOf(ends.from)}`
  if (at > ends.to) return `The latest time that can be restored is ${momentOf(ends.to)}`
  const gap = gapsOf(spans).find(({ from, to }) => at > from && at < to)
  return gap === undefined
    ? undefined
    : `The log of this time was lost. Choose one before ${momentOf(gap.from)}, or from ${momentOf(Math.ceil(gap.to / 1000) * 1000)} on`
}

export const momentOf = (at: number) => moment(new Date(at).toISOString())

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60]
] as const

/** "6 days", "1 second": of a length in seconds, in its largest unit. */
export const lengthOf = (seconds: number): string => {
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["second", 1]
  const value = Math.floor(seconds / size)
  return `${value} ${unit}${value === 1 ? "" : "s"}`
}

/** How long something is behind, or took: small ones with a decimal. */
export const lagOf = (seconds: number) =>
  seconds < 10 ? `${seconds.toFixed(1)} s` : seconds < 120 ? `${Math.round(seconds)} s` : lengthOf(seconds)
