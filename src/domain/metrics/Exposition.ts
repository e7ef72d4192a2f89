import { catalogue, familyOf, type MetricName } from "./Catalogue.ts"
import { type Sample } from "./Sample.ts"

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
  const own = names.map((label) => [label, labels[label] ?? ""] as const)
  if (typeof value === "number") return series(name, own, value)
  const buckets = bounds.map((bound, at) =>
    series(`${name}_bucket`, [...own, ["le", boundText(bound)]], value.counts[at] ?? 0)
  )
  return [
    ...buckets,
    series(`${name}_bucket`, [...own, ["le", "+Inf"]], value.count),
    series(`${name}_sum`, own, value.sum),
    series(`${name}_count`, own, value.count)
  ].join("")
}

/** The metrics as text, in the order of the catalogue. */
export const exposition = (samples: ReadonlyArray<Sample>, format: MetricFormat): string => {
  const byName = Map.groupBy(samples, ({ name }) => name)
  const blocks = (Object.keys(catalogue) as Array<MetricName>).map((name) => {
    const found = byName.get(name)
    if (found === undefined) return ""
    const { help, type } = familyOf(name)
    // OpenMetrics names the family of a counter without the suffix of its series.
    const family = format === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name
    const lines = found.map((sample) => linesOf(name, sample)).join("")
    return `# HELP ${family} ${escaped(help)}\n# TYPE ${family} ${type}\n${lines}`
  })
  return `${blocks.join("")}${format === "openmetrics" ? "# EOF\n" : ""}`
}
