import { assert } from "vitest"
import { type MetricFormat } from "../../src/domain/metrics/Sample.ts"

interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface ParsedFamily {
  readonly type: string
  readonly help: string
  readonly series: ReadonlyArray<Series>
}

const sampleLine = /^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*"(?:,(?=[a-z])|(?=\})))+)\})? (\S+)$/
const labelPart = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g

const seriesOf = (line: string): Series => {
  const [, name = "", labels = "", value = ""] = sampleLine.exec(line) ?? assert.fail(`not a sample: ${line}`)
  assert.match(value, /^(?:\d+(?:\.\d+)?(?:e[+-]\d+)?)$/, line)
  const pairs = Array.from(labels.matchAll(labelPart), ([, label = "", text = ""]) => [label, text] as const)
  assert.strictEqual(new Set(pairs.map(([label]) => label)).size, pairs.length, line)
  return { name, labels: Object.fromEntries(pairs), value: Number(value) }
}

/** A histogram's series: bounds that grow, counts that do not fall, and `+Inf` as the count of all. */
const assertHistogram = (family: string, series: ReadonlyArray<Series>) => {
  const own = ({ labels }: Series) => JSON.stringify(Object.entries(labels).filter(([name]) => name !== "le"))
  for (const [labels, group] of Map.groupBy(series, own)) {
    const buckets = group.filter(({ name }) => name === `${family}_bucket`)
    const bounds = buckets.map(({ labels }) => (labels["le"] === "+Inf" ? Infinity : Number(labels["le"])))
    assert.deepStrictEqual(
      bounds,
      [...new Set(bounds)].toSorted((a, b) => a - b),
      family
    )
    assert.strictEqual(bounds.at(-1), Infinity, family)
    assert.isTrue(bounds.slice(0, -1).every((bound) => bound > 0))
    const counts = buckets.map(({ value }) => value)
    assert.deepStrictEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      `${family} ${labels}`
    )
    const [sum, count] = ["sum", "count"].map((part) => group.filter(({ name }) => name === `${family}_${part}`))
    assert.deepStrictEqual([sum?.length, count?.length, count?.[0]?.value], [1, 1, counts.at(-1)], family)
    assert.strictEqual(group.length, buckets.length + 2)
  }
}

/** Reads the text of /metrics, and asserts all rules of its format. */
export const parseMetrics = (text: string, format: MetricFormat): ReadonlyMap<string, ParsedFamily> => {
  const openMetrics = format === "openmetrics"
  assert.isTrue(text.endsWith(openMetrics ? "\n# EOF\n" : "\n"))
  const lines = text
    .slice(0, openMetrics ? -"# EOF\n".length : undefined)
    .split("\n")
    .slice(0, -1)
  const families = new Map<string, { type: string; help: string; series: Array<Series> }>()
  let current = ""
  for (const line of lines) {
    const help = /^# HELP ([a-z_][a-z0-9_]*) (\S.*)$/.exec(line)
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (help !== null) {
      current = help[1] ?? ""
      assert.isFalse(families.has(current), `${current} comes twice`)
      families.set(current, { type: "", help: help[2] ?? "", series: [] })
    } else if (type !== null) {
      assert.strictEqual(type[1], current)
      const family = families.get(current)
      assert.deepInclude(family, { type: "", series: [] })
      if (family !== undefined) family.type = type[2] ?? ""
    } else {
      const series = seriesOf(line)
      const family = families.get(current)
      assert.isNotEmpty(family?.type ?? "", line)
      const suffixes = {
        counter: openMetrics ? ["_total"] : [""],
        gauge: [""],
        histogram: ["_bucket", "_sum", "_count"]
      }
      const names = suffixes[family?.type as keyof typeof suffixes].map((suffix) => current + suffix)
      assert.include(names, series.name)
      family?.series.push(series)
    }
  }
  for (const [name, { series, type }] of families) {
    assert.isNotEmpty(series, name)
    const keys = series.map(({ labels, name }) => JSON.stringify([name, Object.entries(labels).toSorted()]))
    assert.strictEqual(new Set(keys).size, keys.length, `${name} repeats a series`)
    if (type === "counter" && !openMetrics) assert.match(name, /_total$/)
    if (type === "gauge") assert.notMatch(name, /_total$/)
    if (type === "histogram") assertHistogram(name, series)
  }
  return families
}

/** The sum of the series that have all of these labels. */
export const valueOf = (
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {}
): number =>
  Array.from(families.values())
    .flatMap(({ series }) => series)
    .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
