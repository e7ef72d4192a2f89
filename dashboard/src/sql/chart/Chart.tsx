import "./chart.css"
import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react"
import { Empty } from "../../ui/Empty.tsx"
import { Choose } from "../../ui/Field.tsx"
import { plural } from "../../ui/format.ts"
import { Segments } from "../../ui/page/Segments.tsx"
import type { Result } from "../result/rows.ts"
import { type Axes, axesOf, type Choice, type Kind, rowNumber, scaleOf } from "./columns.ts"
import { drawingOf, nearest } from "./drawing.ts"
import { type Point, pointsOf } from "./points.ts"

interface ChartProps {
  readonly result: Result
  readonly choice: Choice
  /** Undefined: the axes are as they are chosen. */
  readonly onChoose?: (choice: Choice) => void
}

const kinds = [
  ["line", "Line"],
  ["bars", "Bars"]
] as const satisfies ReadonlyArray<readonly [Kind, string]>

const nameOf = (x: Axes["x"]) => x?.name ?? "row number"

/** What the drawing shows, in words. */
const summaryOf = (points: ReadonlyArray<Point>, { kind, x, y }: Axes) => {
  let [least, most]: [Point | undefined, Point | undefined] = [undefined, undefined]
  let missing = 0
  for (const point of points) {
    if (point.y === null) missing++
    else {
      if (least?.y == null || point.y < least.y) least = point
      if (most?.y == null || point.y > most.y) most = point
    }
  }
  if (least === undefined || most === undefined) return undefined
  const from = `${plural(points.length, "point")} from ${points[0]?.xText} to ${points.at(-1)?.xText}`
  const without = missing === 0 ? "" : `, ${missing} without a value`
  return `${kind === "line" ? "Line" : "Bars"} of ${y?.name} by ${nameOf(x)}: ${from}${without}; least ${least.yText} at ${least.xText}, most ${most.yText} at ${most.xText}`
}

/** Undefined until they are read. */
const usePoints = (result: Result, axes: Axes) => {
  const { kind, x, y } = axes
  const [read, setRead] = useState<{
    readonly result: Result
    readonly axes: Axes
    readonly points: ReadonlyArray<Point>
  }>()
  useEffect(() => {
    const controller = new AbortController()
    void pointsOf(result, axes, controller.signal).then((points) => {
      if (!controller.signal.aborted) setRead({ result, axes, points })
    })
    return () => controller.abort()
    // The axes are made from these.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [result, kind, x, y])
  return read
}

const Plot = ({ axes, points, words }: { axes: Axes; points: ReadonlyArray<Point>; words: string }) => {
  const place = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState({ width: 0, height: 0 })
  const [at, setAt] = useState(points.length - 1)
  useEffect(() => {
    const { current } = place
    if (current === null) return
    const look = () => setSize({ width: current.clientWidth, height: current.clientHeight })
    const observer = new ResizeObserver(look)
    observer.observe(current)
    look()
    return () => observer.disconnect()
  }, [])
  const { kind, x, y } = axes
  const { height, width } = size
  const drawing = useMemo(
    () => (width === 0 ? undefined : drawingOf({ points, kind, scale: scaleOf(x), width, height })),
    [points, kind, x, width, height]
  )
  const point = points[Math.min(at, points.length - 1)]
  const mark = drawing === undefined || point === undefined ? undefined : drawing.place(point)
  const hover = (event: PointerEvent) => {
    if (drawing === undefined || place.current === null) return
    setAt(nearest(points, drawing.place, event.clientX - place.current.getBoundingClientRect().left))
  }
  return (
    <figure className="sql-chart">
      <div ref={place} className="sql-plot" onPointerMove={hover} onPointerDown={hover}>
        {drawing === undefined ? null : (
          <svg role="img" aria-label={words} width={width} height={height}>
            {drawing.yTicks.map((tick, index) => (
              <g key={index}>
                <line className="rule" x1={drawing.plot.left} x2={drawing.plot.right} y1={tick.at} y2={tick.at} />
                <text x={drawing.plot.left - 6} y={tick.at + 4} textAnchor="end">
                  {tick.words}
                </text>
              </g>
            ))}
            {drawing.xTicks.map((tick, index) => (
              <text
                key={index}
                x={Math.min(Math.max(tick.at, tick.words.length * 3.1), width - tick.words.length * 3.1)}
                y={height - 8}
                textAnchor="middle"
              >
                {tick.words}
              </text>
            ))}
            <path className={kind} d={drawing.path} />
            <line className="foot" x1={drawing.plot.left} x2={drawing.plot.right} y1={drawing.zero} y2={drawing.zero} />
            {mark === undefined ? null : (
              <>
                <line className="mark" x1={mark.x} x2={mark.x} y1={drawing.plot.top} y2={drawing.plot.bottom} />
                {point?.y == null ? null : <circle cx={mark.x} cy={mark.y} r={4} />}
              </>
            )}
          </svg>
        )}
      </div>
      <figcaption>
        <input
          type="range"
          aria-label="Point"
          aria-valuetext={`${nameOf(x)} ${point?.xText}, ${y?.name} ${point?.yText}`}
          min={0}
          max={points.length - 1}
          value={Math.min(at, points.length - 1)}
          disabled={points.length === 1}
          onChange={(event) => setAt(Number(event.target.value))}
        />
        <output>
          {nameOf(x)} <b>{point?.xText}</b> · {y?.name} <b>{point?.yText}</b>
        </output>
      </figcaption>
    </figure>
  )
}

/** A column of numbers by another column, a point for each row. */
export const Chart = ({ choice, onChoose, result }: ChartProps) => {
  const axes = useMemo(() => axesOf(result, choice), [result, choice])
  const read = usePoints(result, axes)
  const words = useMemo(() => (read === undefined ? undefined : summaryOf(read.points, read.axes)), [read])
  if (result.rows.length === 0)
    return (
      <Empty icon="requests" title="No rows">
        A chart needs at least one.
      </Empty>
    )
  if (axes.y === undefined)
    return (
      <Empty icon="requests" title="No column is a number">
        A chart needs one for its heights: count(*), for example, or a text that is cast, such as price::numeric.
      </Empty>
    )
  const dropped = read === undefined ? 0 : result.rows.length - read.points.length
  return (
    <div className="sql-charts" role="region" aria-label="Chart">
      {onChoose === undefined && dropped === 0 ? null : (
        <div className="sql-axes">
          {onChoose === undefined ? null : (
            <>
              <Choose
                label="Across"
                value={axes.x?.name ?? rowNumber}
                options={[...axes.xs.map(({ name }) => [name, name] as const), [rowNumber, "row number"]]}
                onValue={(x) => onChoose({ ...choice, x })}
              />
              <Choose
                label="Height"
                value={axes.y.name}
                options={axes.ys.map(({ name }) => [name, name] as const)}
                onValue={(y) => onChoose({ ...choice, y })}
              />
              <Segments
                label="Kind of chart"
                options={kinds}
                value={axes.kind}
                onValue={(kind) => onChoose({ ...choice, kind })}
              />
            </>
          )}
          {dropped === 0 ? null : (
            <span className="hint">
              {plural(dropped, "row")} without a place on {nameOf(axes.x)} {dropped === 1 ? "is" : "are"} left out
            </span>
          )}
        </div>
      )}
      {read === undefined ? (
        <p className="hint">Drawing…</p>
      ) : words === undefined ? (
        <Empty icon="requests" title={`No row has a number in ${axes.y.name}`}>
          Choose another column for the heights.
        </Empty>
      ) : (
        <Plot axes={read.axes} points={read.points} words={words} />
      )}
    </div>
  )
}
