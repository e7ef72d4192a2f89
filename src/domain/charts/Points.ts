import { Schema } from "effect"
import { atUtc, Time } from "../audit/Entry.ts"
import { InvalidRequest } from "../errors.ts"

/** The steps in seconds, each with the hours that its points are kept. */
export const chartSteps = [
  { step: 60, hours: 24 },
  { step: 600, hours: 7 * 24 },
  { step: 3600, hours: 30 * 24 }
] as const

export const ChartStep = Schema.Literals([60, 600, 3600])
export type ChartStep = typeof ChartStep.Type

/** Points of a response. */
const mostPoints = 1500

const Count = Schema.Finite
const Gauge = Schema.NullOr(Schema.Finite)

/** What all replicas did and had in the time of a step. */
export const ChartPoint = Schema.Struct({
  /** The beginning. */
  at: Schema.String,
  /** Without those of the dashboard. */
  requests: Count,
  /** Responses with a status from 400 to 499, and from 500. */
  refused: Count,
  errors: Count,
  /** Half, and 95%, of the responses began within so many ms, to 15%; null without any. */
  p50: Gauge,
  p95: Gauge,
  /** The most of the time; null where the database was unreachable. */
  connections: Gauge,
  active: Gauge,
  /** Statements that took over a second when they were counted, once a minute. */
  slow: Gauge,
  /** Measured every ten minutes; null in other minutes. */
  database_bytes: Gauge
})
export type ChartPoint = typeof ChartPoint.Type

export const ChartQuery = Schema.Struct({
  /** Default: an hour ago, and now. */
  from: Schema.optionalKey(Time),
  to: Schema.optionalKey(Time),
  /** Default: the shortest whose points are kept for as long. */
  step: Schema.optionalKey(Schema.Literals(["60", "600", "3600"]))
})
export type ChartQuery = typeof ChartQuery.Type

export const Charts = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  /** Seconds. */
  step: ChartStep,
  /** The connections that PostgreSQL accepts. */
  max_connections: Gauge,
  /** The oldest first; a time in which nothing was recorded has no point. */
  points: Schema.Array(ChartPoint)
})
export type Charts = typeof Charts.Type

/** The times and the step of a query, or why they are invalid. */
export const chartRange = (
  { from, step, to }: ChartQuery,
  now: number
): { readonly from: number; readonly to: number; readonly step: ChartStep } | InvalidRequest => {
  const end = to === undefined ? now : Date.parse(atUtc(to))
  const begin = from === undefined ? end - 3_600_000 : Date.parse(atUtc(from))
  if (begin >= end)
    return new InvalidRequest({ error: "from must be before to", details: ["from: Expected an earlier time"] })
  const fitting = chartSteps.find(
    ({ hours, step }) => now - begin <= hours * 3_600_000 && (end - begin) / 1000 / step <= mostPoints
  )
  const chosen = step === undefined ? (fitting?.step ?? 3600) : (Number(step) as ChartStep)
  if ((end - begin) / 1000 / chosen > mostPoints)
    return new InvalidRequest({
      error: `The time has over ${mostPoints} points: choose a longer step, or a shorter time`,
      details: ["step: Expected a longer one"]
    })
  return { from: begin, to: end, step: chosen }
}
