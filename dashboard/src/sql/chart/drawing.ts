import type { Kind, Scale } from "./columns.ts"
import type { Point } from "./points.ts"

/** A value of an axis, with its place in pixels. */
interface Tick {
  readonly at: number
  readonly words: string
}

export interface Drawing {
  /** Where the points may be drawn, in pixels. */
  readonly plot: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number }
  readonly path: string
  /** Of bars: their foot. */
  readonly zero: number
  readonly xTicks: ReadonlyArray<Tick>
  readonly yTicks: ReadonlyArray<Tick>
  /** Of a point; one without a value is at the foot. */
  readonly place: (point: Point) => { readonly x: number; readonly y: number }
}

/** 1, 2 or 5 of some power of ten, of which about `count` make `half` twice. Halves: the whole may be beyond all numbers. */
const stepOf = (half: number, count: number) => {
  const rough = (half / count) * 2
  const power = 10 ** Math.floor(Math.log10(rough))
  return ([1, 2, 5].find((size) => size * power >= rough * 0.999) ?? 10) * power
}

/** Bounds around values that are a little apart at least, and the round numbers between them. */
const rangeOf = (low: number, high: number, count: number) => {
  const apart = high / 2 - low / 2 > Math.max(Math.abs(low), Math.abs(high)) * 1e-12
  const room = Math.abs(low) / 2 || 0.5
  const [from, to] = apart
    ? [low, high]
    : [Math.max(-Number.MAX_VALUE, low - room), Math.min(Number.MAX_VALUE, high + room)]
  const step = stepOf(to / 2 - from / 2, count)
  const values: Array<number> = []
  for (let index = Math.ceil(from / step - 1e-9); index <= to / step + 1e-9 && values.length < 50; index++)
    values.push(index === 0 ? 0 : index * step)
  return { from, to, values: values.filter((value) => Number.isFinite(value)) }
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 })
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 15 })

/** As short as they are different. */
const numberWords = (values: ReadonlyArray<number>): ReadonlyArray<string> => {
  const far = values.some((value) => Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-6))
  const ways = far
    ? [
        (value: number) => String(Number(value.toPrecision(3))),
        (value: number) => String(Number(value.toPrecision(15)))
      ]
    : [compact.format, plain.format]
  const all = ways.map((way) => values.map((value) => way(value)))
  return all.find((words) => new Set(words).size === values.length) ?? all.at(-1) ?? []
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]
/** Times of the clock; days are in round numbers of them. */
const clock = [1, 2, 5, 10, 15, 30]
  .flatMap((one) => [one * second, one * minute])
  .concat([1, 2, 3, 6, 12].map((one) => one * hour))

const timeTicks = (from: number, to: number, count: number): ReadonlyArray<readonly [at: number, words: string]> => {
  const rough = (to - from) / count
  const steps = clock.toSorted((a, b) => a - b)
  const step =
    rough <= 1
      ? 1
      : rough < second
        ? stepOf((to - from) / 2, count)
        : (steps.find((one) => one >= rough) ?? Math.ceil(rough / day) * day)
  const ticks: Array<readonly [number, string]> = []
  for (let at = Math.ceil(from / step) * step; at <= to && ticks.length < 50; at += step) {
    const iso = new Date(at).toISOString()
    ticks.push([
      at,
      step >= day
        ? iso.slice(0, 10)
        : step >= minute
          ? iso.slice(5, 16).replace("T", " ")
          : iso.slice(11, step < second ? 23 : 19)
    ])
  }
  return ticks
}

/** Texts often differ at their ends. */
const cut = (text: string) => (text.length > 14 ? `${text.slice(0, 7)}…${text.slice(-6)}` : text)
/** Of a label, in pixels. */
const widthOf = (words: string) => words.length * 6.2

interface Given {
  readonly points: ReadonlyArray<Point>
  readonly kind: Kind
  readonly scale: Scale
  readonly width: number
  readonly height: number
}

const extent = (values: ReadonlyArray<number>) => {
  let [low, high] = [Infinity, -Infinity]
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  return [low, high] as const
}

/** The chart of points, at least one of which has a value. */
export const drawingOf = ({ height, kind, points, scale, width }: Given): Drawing => {
  const heights = points.flatMap(({ y }) => (y === null ? [] : [y]))
  const [low, high] = extent(heights)
  const [top, bottom] = [12, height - 28]
  const yRange =
    kind === "bars" ? rangeOf(Math.min(0, low), Math.max(0, high), height / 60) : rangeOf(low, high, height / 60)
  const yWords = numberWords(yRange.values)
  const left = Math.min(width / 3, Math.max(28, ...yWords.map((words) => widthOf(words) + 12)))
  const right = width - 14
  const yAt = (value: number) =>
    bottom -
    (bottom - top) * Math.min(1, Math.max(0, (value / 2 - yRange.from / 2) / (yRange.to / 2 - yRange.from / 2)))
  const zero = yAt(Math.min(Math.max(0, yRange.from), yRange.to))

  const ordinal = kind === "bars" || scale === "text"
  const band = (right - left) / Math.max(1, points.length)
  const most = Math.max(2, (right - left) / 95)
  const [first, last] = extent(points.map(({ x }) => x))
  const only = first === last
  const xAt = (x: number) =>
    ordinal
      ? left + band * (x + 0.5)
      : only
        ? (left + right) / 2
        : left + (right - left) * ((x / 2 - first / 2) / (last / 2 - first / 2))
  const place = ({ x, y }: Point) => ({ x: xAt(x), y: y === null ? zero : yAt(y) })

  const every = Math.max(1, Math.ceil(points.length / most))
  const range = rangeOf(first, last, most)
  const rangeWords = numberWords(range.values)
  const labels: ReadonlyArray<readonly [number, string]> =
    ordinal || only
      ? points.filter((_, at) => (only ? at === 0 : at % every === 0)).map(({ x, xText }) => [x, cut(xText)])
      : scale === "time"
        ? timeTicks(first, last, most)
        : range.values.map((value, at) => [value, rangeWords[at] ?? ""])

  const near = (value: number) => value.toFixed(1)
  let path = ""
  if (kind === "bars") {
    const half = Math.max(0.25, band * 0.4)
    for (const point of points) {
      if (point.y === null) continue
      const at = place(point)
      // A value that is small beside the others must be seen.
      const tip = Math.abs(at.y - zero) < 1 && point.y !== 0 ? zero + (point.y < 0 ? 1 : -1) : at.y
      path += `M${near(at.x - half)} ${near(zero)}V${near(tip)}H${near(at.x + half)}V${near(zero)}Z`
    }
  } else {
    let before = false
    for (const point of points) {
      const { x, y } = place(point)
      const to = `${near(x)} ${near(y)}`
      // A point alone is drawn by the round end of a line of no length.
      if (point.y !== null) path += before ? `L${to}` : `M${to}L${to}`
      before = point.y !== null
    }
  }
  return {
    plot: { left, right, top, bottom },
    path,
    zero,
    place,
    xTicks: labels.map(([x, words]) => ({ at: xAt(x), words })),
    yTicks: yRange.values.map((value, at) => ({ at: yAt(value), words: yWords[at] ?? "" }))
  }
}

/** The index of the point that is nearest to a place. Points are in the order of their places. */
export const nearest = (points: ReadonlyArray<Point>, place: Drawing["place"], x: number): number => {
  let [from, to] = [0, points.length - 1]
  while (from < to) {
    const middle = (from + to) >> 1
    const [one, other] = [points[middle], points[middle + 1]]
    if (one === undefined || other === undefined) break
    if (place(one).x + place(other).x < 2 * x) from = middle + 1
    else to = middle
  }
  return from
}
