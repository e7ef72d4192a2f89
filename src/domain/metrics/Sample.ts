import { type Minutes } from "../requests/Minutes.ts"
import { type LabelsOf, type MetricName, catalogue, familyOf } from "./Catalogue.ts"

/** A histogram: how many values each bound of its family was not exceeded by. */
export interface Distribution {
  readonly counts: ReadonlyArray<number>
  readonly sum: number
  readonly count: number
}

/** One value of a metric. Can be written as JSON. */
export interface Sample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Distribution
}

export const sampleOf = <N extends MetricName>(name: N, labels: LabelsOf<N>, value: number | Distribution): Sample => ({
  name,
  labels,
  value
})

const sumOf = (a: Sample["value"], b: Sample["value"]): Sample["value"] => {
  if (typeof a === "number" || typeof b === "number") return Number(a) + Number(b)
  return {
    counts: a.counts.map((count, at) => count + (b.counts[at] ?? 0)),
    sum: a.sum + b.sum,
    count: a.count + b.count
  }
}

/** Adds up the values that have the same labels: those of several pools, and of several processes. */
export const summed = (samples: Iterable<Sample>): ReadonlyArray<Sample> => {
  const all = new Map<string, Sample>()
  for (const sample of samples) {
    const key = JSON.stringify([sample.name, familyOf(sample.name).labels.map((label) => sample.labels[label])])
    const before = all.get(key)
    // `svc_build_info` is the same in all processes and not added up.
    const value =
      before === undefined || sample.name === "svc_build_info" ? sample.value : sumOf(before.value, sample.value)
    all.set(key, { ...sample, value })
  }
  return Array.from(all.values())
}

/** Whether the value only grows, and so must not fall when a process ends. */
export const isCumulative = ({ name }: Sample) => familyOf(name).type !== "gauge"

/** How much of a pool is in use. */
export interface PoolUse {
  readonly open: number
  readonly busy: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** The most that it opens. */
  readonly limit: number
}

/** The use of a pool as metrics. `database`: the main one, all branches together, or all standbys. */
export const samplesOfPool = (
  database: "main" | "branch" | "standby",
  role: string,
  lane: string,
  { busy, limit, open, waiting }: PoolUse
): ReadonlyArray<Sample> => {
  const labels = { database, role, lane }
  return [
    sampleOf("svc_db_connections", { ...labels, state: "busy" }, busy),
    sampleOf("svc_db_connections", { ...labels, state: "idle" }, Math.max(0, open - busy)),
    sampleOf("svc_db_connections_limit", labels, limit),
    sampleOf("svc_db_waiting", labels, waiting)
  ]
}

/** The use of single connections outside all pools. */
export const samplesOfConnections = (
  database: "main" | "standby",
  lane: string,
  open: number,
  limit: number
): ReadonlyArray<Sample> => samplesOfPool(database, "service", lane, { open, busy: open, waiting: 0, limit })

/** The samples of what the request log has counted. */
export const samplesOfRequests = (counts: Minutes): ReadonlyArray<Sample> =>
  counts.total.flatMap(([route, method, { bytes, latencies, millis, statuses }]) => {
    const labels = { method, route: route === "" ? "none" : route }
    return [
      ...Array.from(statuses, ([status, count]) =>
        sampleOf("svc_http_requests_total", { ...labels, status: String(status) }, count)
      ),
      sampleOf("svc_http_request_duration_seconds", labels, { ...latencies.upToBounds, sum: millis / 1000 }),
      sampleOf("svc_http_response_bytes_total", labels, bytes)
    ]
  })

/** The formats in which metrics are read: Prometheus' own (0.0.4), and OpenMetrics 1.0. */
export type MetricFormat = "text" | "openmetrics"

export const mediaTypes: Readonly<Record<MetricFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
}

const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')

const series = (name: string, labels: ReadonlyArray<readonly [name: string, value: string]>, value: number) => {
  const list = labels.map(([label, value]) => `${label}="${escaped(value)}"`).join(",")
  return `${name}${list === "" ? "" : `{${list}}`} ${value}\n`
}

/** OpenMetrics requires a fraction in every bound of a histogram. */
const boundText = (bound: number) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound))

const linesOf = (name: MetricName, { labels, value }: Sample) => {
  const { bounds = [], labels: names } = familyOf(name)
  const pairs = names.map((label) => [label, labels[label] ?? ""] as const)
  if (typeof value === "number") return series(name, pairs, value)
  const buckets = bounds.map((bound, at) =>
    series(`${name}_bucket`, [...pairs, ["le", boundText(bound)]], value.counts[at] ?? 0)
  )
  return [
    ...buckets,
    series(`${name}_bucket`, [...pairs, ["le", "+Inf"]], value.count),
    series(`${name}_sum`, pairs, value.sum),
    series(`${name}_count`, pairs, value.count)
  ].join("")
}

/** The metrics as text, in the order of the catalogue. */
export const exposition = (samples: ReadonlyArray<Sample>, format: MetricFormat): string => {
  const byName = Map.groupBy(samples, ({ name }) => name)
  const blocks = (Object.keys(catalogue) as Array<MetricName>).map((name) => {
    const ofName = byName.get(name)
    if (ofName === undefined) return ""
    const { help, type } = familyOf(name)
    // OpenMetrics names the family of a counter without the suffix of its series.
    const family = format === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name
    const lines = ofName.map((sample) => linesOf(name, sample)).join("")
    return `# HELP ${family} ${escaped(help)}\n# TYPE ${family} ${type}\n${lines}`
  })
  return `${blocks.join("")}${format === "openmetrics" ? "# EOF\n" : ""}`
}
