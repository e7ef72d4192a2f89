import { type PointerEvent, useRef } from "react"
import { height, mostOf, pathOf, placeOf, width } from "./series.ts"

export interface Series {
  readonly name: string
  readonly kind: "main" | "second" | "warn" | "bad"
  readonly values: ReadonlyArray<number | null>
}

interface TimeChartProps {
  readonly title: string
  readonly series: ReadonlyArray<Series>
  readonly format: (value: number) => string
  /** The place whose values are shown. */
  readonly at: number
  readonly onAt: (at: number) => void
  /** Whether values are only there from time to time. */
  readonly bridged?: boolean
}

/** The last value up to a place; without `bridged` that of the place. */
const valueAt = (values: Series["values"], at: number, bridged: boolean) =>
  bridged ? (values.slice(0, at + 1).findLast((value) => value !== null) ?? null) : (values[at] ?? null)

/** Lines over time. Their values at one time are in words below; all are in the table of the page. */
export const TimeChart = ({ at, bridged = false, format, onAt, series, title }: TimeChartProps) => {
  const plot = useRef<SVGSVGElement>(null)
  const all = series.map(({ values }) => values)
  const length = all[0]?.length ?? 0
  const most = mostOf(all)
  const words = (value: number | null) => (value === null ? "–" : format(value))
  const label = `${title}: ${series
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null)
      return known.length === 0
        ? `${name} not known`
        : `${name} ${format(known.reduce((a, b) => Math.min(a, b)))} to ${format(known.reduce((a, b) => Math.max(a, b)))}`
    })
    .join(", ")}`
  const hover = ({ clientX }: PointerEvent) => {
    const box = plot.current?.getBoundingClientRect()
    if (box === undefined || length === 0) return
    onAt(Math.max(0, Math.min(length - 1, Math.floor(((clientX - box.left) / box.width) * length))))
  }
  const x = placeOf(at, length)
  return (
    <figure className="time-chart">
      <figcaption>
        <h4>{title}</h4>
        <ul>
          {series.map(({ kind, name, values }) => (
            <li key={name} className={kind}>
              {name} <b>{words(valueAt(values, at, bridged))}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <span className="most">{format(most)}</span>
      <svg
        ref={plot}
        role="img"
        aria-label={label}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        onPointerMove={hover}
        onPointerDown={hover}
      >
        <line className="mark" x1={x} x2={x} y1={0} y2={height} vectorEffect="non-scaling-stroke" />
        {series.map(({ kind, name, values }) => (
          <path key={name} className={kind} d={pathOf(values, most, bridged)} vectorEffect="non-scaling-stroke" />
        ))}
      </svg>
    </figure>
  )
}
