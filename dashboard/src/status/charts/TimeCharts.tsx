import "./charts.css"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo, useState } from "react"
import { Skeleton } from "../../ui/Empty.tsx"
import { bytes, count } from "../../ui/format.ts"
import { List, type ListColumn } from "../../ui/List.tsx"
import { Segments } from "../../ui/page/Segments.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { call } from "../../wire/call.ts"
import { type Point, type Range, ranges, type Slot, slotsOf } from "./series.ts"
import { TimeChart } from "./TimeChart.tsx"

const clock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC"
})
const timeOf = (at: number) => `${clock.format(at)} UTC`
const millis = (value: number) =>
  value < 1000 ? `${Number(value.toPrecision(3))} ms` : `${(value / 1000).toPrecision(3)} s`
const shown = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? "–" : format(value)

const number = (name: string, of: (point: Point) => number | null, format = count): ListColumn<Slot> => ({
  name,
  end: true,
  cell: ({ point }) => shown(point === undefined ? null : of(point), format)
})
const columns: ReadonlyArray<ListColumn<Slot>> = [
  { name: "From", cell: ({ at }) => timeOf(at) },
  number("Requests", ({ requests }) => requests),
  number("Refused", ({ refused }) => refused),
  number("Errors", ({ errors }) => errors),
  number("p50", ({ p50 }) => p50, millis),
  number("p95", ({ p95 }) => p95, millis),
  number("Connections", ({ connections }) => connections),
  number("At work", ({ active }) => active),
  number("Over 1 s", ({ slow }) => slow),
  number("Database", ({ database_bytes }) => database_bytes, bytes)
]

const isRange = (value: unknown): value is Range => typeof value === "string" && value in ranges

const Plots = ({ each, most, slots }: { slots: ReadonlyArray<Slot>; each: string; most: number | null }) => {
  const [chosen, setAt] = useState<number>()
  const [table, setTable] = useState(false)
  const at = Math.min(chosen ?? slots.length - 1, slots.length - 1)
  const lines = useMemo(() => {
    const of = (value: (point: Point) => number | null) =>
      slots.map(({ point }) => (point === undefined ? null : value(point)))
    return {
      requests: of(({ requests }) => requests),
      refused: of(({ refused }) => refused),
      errors: of(({ errors }) => errors),
      p50: of(({ p50 }) => p50),
      p95: of(({ p95 }) => p95),
      connections: of(({ connections }) => connections),
      active: of(({ active }) => active),
      slow: of(({ slow }) => slow),
      size: of(({ database_bytes }) => database_bytes)
    }
  }, [slots])
  const here = { at, onAt: setAt }
  const time = timeOf(slots[at]?.at ?? 0)
  return (
    <>
      <div className="time-at">
        <input
          type="range"
          aria-label="Time"
          aria-valuetext={time}
          min={0}
          max={slots.length - 1}
          value={at}
          onChange={(event) => setAt(Number(event.target.value))}
        />
        <output>{time}</output>
      </div>
      <div className="time-charts">
        <TimeChart
          {...here}
          title={`Requests each ${each}`}
          format={count}
          series={[
            { name: "requests", kind: "main", values: lines.requests },
            { name: "refused (4xx)", kind: "warn", values: lines.refused },
            { name: "errors (5xx)", kind: "bad", values: lines.errors }
          ]}
        />
        <TimeChart
          {...here}
          title="Time until the response began"
          format={millis}
          series={[
            { name: "p95", kind: "main", values: lines.p95 },
            { name: "p50", kind: "second", values: lines.p50 }
          ]}
        />
        <TimeChart
          {...here}
          title={`Connections to PostgreSQL${most === null ? "" : `, of ${most}`}`}
          format={count}
          series={[
            { name: "open", kind: "main", values: lines.connections },
            { name: "at work", kind: "second", values: lines.active }
          ]}
        />
        <TimeChart
          {...here}
          title="Statements over a second"
          format={count}
          series={[{ name: "at once", kind: "main", values: lines.slow }]}
        />
        <TimeChart
          {...here}
          title="Size of the database"
          format={bytes}
          bridged
          series={[{ name: "size", kind: "main", values: lines.size }]}
        />
      </div>
      <details onToggle={(event) => setTable(event.currentTarget.open)}>
        <summary>Show as a table</summary>
        {table ? (
          <List label={`Each ${each}`} columns={columns} rows={slots.toReversed()} keyOf={(slot) => slot.at} />
        ) : null}
      </details>
    </>
  )
}

/** What was counted and measured in the last hour, day, week or month. */
export const TimeCharts = () => {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false })
  const navigate = useNavigate()
  const range = isRange(search["range"]) ? search["range"] : "hour"
  const { hours, step } = ranges[range]
  const charts = useQuery({
    queryKey: ["status", "charts", range],
    queryFn: ({ signal }) =>
      call("GET /api/charts", {
        query: { from: new Date(Date.now() - hours * 3_600_000).toISOString(), step: String(step) as "60" },
        signal
      }),
    refetchInterval: 60_000,
    placeholderData: keepPreviousData
  })
  // While the next range is read, the points are still those of the one before.
  const each = Object.values(ranges).find(({ step }) => step === charts.data?.step)?.each ?? ranges[range].each
  const slots = useMemo(() => (charts.data === undefined ? [] : slotsOf(charts.data)), [charts.data])
  return (
    <section className="part" aria-label="Over time">
      <header>
        <h3>Over time</h3>
        <Segments
          label="Range"
          options={Object.entries(ranges).map(([name, { words }]) => [name as Range, words] as const)}
          value={range}
          onValue={(next) =>
            void navigate({
              to: "/status",
              search: { ...(search as Record<string, string>), range: next },
              replace: true
            })
          }
        />
      </header>
      {charts.isLoadingError ? (
        <Problem error={charts.error} title="The charts could not be read" onRetry={() => void charts.refetch()} />
      ) : charts.data === undefined ? (
        <Skeleton lines={[100, 100]} />
      ) : charts.data.points.length === 0 ? (
        <p className="soft">Nothing is recorded yet: the first point follows the first minute of the service.</p>
      ) : (
        <Plots slots={slots} each={each} most={charts.data.max_connections} />
      )}
    </section>
  )
}
