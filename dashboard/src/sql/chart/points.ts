import { valueText } from "../result/copies.ts"
import { inSlices, type Result } from "../result/rows.ts"
import { type Axes, scaleOf } from "./columns.ts"

/** A row of the chart. */
export interface Point {
  /** Where it is: a number, ms since 1970, or the number of the point. */
  readonly x: number
  /** Null: the row has no value, and the line is interrupted. */
  readonly y: number | null
  /** As PostgreSQL wrote them. */
  readonly xText: string
  readonly yText: string
}

const numberOf = (value: unknown) => {
  const number = typeof value === "number" ? value : typeof value === "string" && value !== "" ? Number(value) : NaN
  return Number.isFinite(number) ? number : null
}

/** A time without a zone is read as UTC, so that it is shown as it was written. */
const timeOf = (value: unknown) => {
  const [, day, time = "00:00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[ T]([\d:.]+)(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(valueText(value)) ?? []
  const at = Date.parse(`${day ?? ""}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone}`)
  return Number.isNaN(at) ? null : at
}

const shown = (value: unknown) => (value === null ? "NULL" : value === "" ? "EMPTY" : valueText(value).slice(0, 200))

/**
 * The points of a result, without the rows whose x is no place on its scale. A line along numbers or times goes from left
 * to right; bars, and lines along texts, are in the order of the rows.
 */
export const pointsOf = async (
  { rows }: Result,
  { kind, x, y }: Axes,
  signal: AbortSignal
): Promise<ReadonlyArray<Point>> => {
  const points: Array<Point> = []
  const scale = kind === "bars" ? "text" : scaleOf(x)
  await inSlices(
    rows.length,
    (at) => {
      const row = rows.at(at)
      const value = x === undefined ? at + 1 : row[x.name]
      const place = scale === "text" ? points.length : scale === "time" ? timeOf(value) : numberOf(value)
      if (place === null) return
      const height = y === undefined ? null : row[y.name]
      points.push({ x: place, y: numberOf(height), xText: shown(value), yText: shown(height) })
    },
    signal
  )
  return scale === "text" ? points : points.toSorted((a, b) => a.x - b.x)
}
