import type { Wire } from "../../wire/Wire.ts"

export type Charts = Wire["GET /api/charts"]["success"]
export type Point = Charts["points"][number]

/** What can be looked back on: hours, and seconds of a point. */
export const ranges = {
  hour: { words: "1 h", hours: 1, step: 60, each: "minute" },
  day: { words: "24 h", hours: 24, step: 600, each: "ten minutes" },
  week: { words: "7 d", hours: 168, step: 3600, each: "hour" },
  month: { words: "30 d", hours: 720, step: 3600, each: "hour" }
} as const
export type Range = keyof typeof ranges

/** The time of a place of the charts, in ms since 1970, and what was recorded in it. */
export interface Slot {
  readonly at: number
  readonly point: Point | undefined
}

/** A slot for each step, the oldest first. */
export const slotsOf = ({ from, points, step, to }: Charts): ReadonlyArray<Slot> => {
  const size = step * 1000
  const first = Math.ceil(Date.parse(from) / size) * size
  const found = new Map(points.map((point) => [Date.parse(point.at), point]))
  const length = Math.max(0, Math.ceil((Date.parse(to) - first) / size))
  const slots = Array.from({ length }, (_, at) => ({ at: first + at * size, point: found.get(first + at * size) }))
  // The last one is still to be recorded.
  return slots.at(-1)?.point === undefined ? slots.slice(0, -1) : slots
}

/** The drawing's own size; it is stretched to its place. */
export const [width, height] = [600, 100]

export const placeOf = (at: number, length: number) => ((at + 0.5) / Math.max(1, length)) * width

/** A line through values, which is interrupted where there are none; `bridged`: not, because there need not be one. */
export const pathOf = (values: ReadonlyArray<number | null>, most: number, bridged = false): string => {
  let path = ""
  let joined = false
  for (const [at, value] of values.entries()) {
    if (value === null) {
      joined &&= bridged
      continue
    }
    const point = `${placeOf(at, values.length).toFixed(1)} ${(height - (value / most) * height).toFixed(1)}`
    // A point alone is drawn by the round end of a line of no length.
    path += joined ? `L${point}` : `M${point}L${point}`
    joined = true
  }
  return path
}

/** The greatest value, to which the drawing is scaled; at least `least`. */
export const mostOf = (series: ReadonlyArray<ReadonlyArray<number | null>>, least = 1) =>
  series.flat().reduce<number>((most, value) => Math.max(most, value ?? 0), least)
