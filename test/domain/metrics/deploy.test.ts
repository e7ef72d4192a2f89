import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { catalogue, familyOf, type MetricName } from "../../../src/domain/metrics/Catalogue.ts"

const deploy = join(import.meta.dirname, "../../../deploy")
const rules = readFileSync(join(deploy, "prometheus/alerts.yml"), "utf8")
const dashboard = readFileSync(join(deploy, "grafana/svc.json"), "utf8")

const isName = (name: string): name is MetricName => name in catalogue
/** The metric of a series, such as that of a histogram's buckets. */
const metricOf = (series: string) => (isName(series) ? series : series.replace(/_(?:bucket|sum|count)$/, ""))

/** The expressions of the alerts: those of one line, and blocks. */
const alertExpressions = Array.from(rules.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm), ([, block, line]) =>
  String(block ?? line)
)
interface Panel {
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}
const panels = (JSON.parse(dashboard) as { readonly panels: ReadonlyArray<Panel> }).panels
const panelExpressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** The series of an expression with the labels that it selects or groups by. */
const seriesOf = (expression: string) =>
  Array.from(expression.matchAll(/\b((?:svc|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g))

describe.each([
  ["the alerts", alertExpressions, 15],
  ["the dashboard", panelExpressions, 30]
])("%s", (_, expressions, least) => {
  it("uses metrics and labels that exist", () => {
    assert.isAtLeast(expressions.length, least)
    for (const expression of expressions) {
      const found = seriesOf(expression)
      const labels = new Set(["instance", "job", "le"])
      for (const [, series = "", selectors = ""] of found) {
        const name = metricOf(series)
        if (!isName(name)) assert.fail(`${series} is no metric: ${expression}`)
        assert.strictEqual(series !== name, familyOf(name).type === "histogram", `${series}: ${expression}`)
        for (const label of familyOf(name).labels) labels.add(label)
        for (const [, label = ""] of selectors.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
          assert.include([...labels], label, expression)
      }
      for (const [, group = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
        assert.includeMembers([...labels], group.split(", "), expression)
      }
      // A counter is shown as a rate: its value says how long the process runs.
      for (const [, series = ""] of found) {
        if (/_(?:total|bucket)$/.test(series)) assert.match(expression, new RegExp(`(?:rate|increase)\\(${series}`))
      }
    }
  })
})

it("promtool accepts the rules and the configuration, where it is installed", () => {
  if (spawnSync("promtool", ["--version"]).status !== 0) return
  execFileSync("promtool", ["check", "rules", join(deploy, "prometheus/alerts.yml")])
  for (const name of ["prometheus.yml", "kubernetes.yml"]) {
    const { status, stderr } = spawnSync("promtool", ["check", "config", join(deploy, "prometheus", name)], {
      encoding: "utf8"
    })
    // Debian builds Prometheus without Kubernetes' service discovery.
    if (stderr.includes("field kubernetes_sd_configs not found")) continue
    assert.strictEqual(status, 0, stderr)
  }
})

it("the autoscaler's metric is the one that the adapter makes, of one that exists, with the labels that Prometheus adds", () => {
  const autoscaler = readFileSync(join(deploy, "kubernetes/autoscaler.yaml"), "utf8")
  const [, wanted] = /metric: \{ name: (\w+) \}/.exec(autoscaler) ?? []
  const [, made] = /name: \{ as: (\w+) \}/.exec(autoscaler) ?? []
  assert.isDefined(wanted)
  assert.strictEqual(wanted, made)
  const [, series = "", selector = ""] = /seriesQuery: '(\w+)\{(.*)\}'/.exec(autoscaler) ?? []
  if (!isName(series)) assert.fail(`${series} is no metric`)
  assert.strictEqual(familyOf(series).type, "counter")
  assert.match(autoscaler, /metricsQuery: 'max by \(<<\.GroupBy>>\) \(rate\(/)
  const scraped = readFileSync(join(deploy, "prometheus/kubernetes.yml"), "utf8")
  for (const [, label] of selector.matchAll(/(\w+)!=""/g)) assert.include(scraped, `target_label: ${label}`)
  const ports = readFileSync(join(deploy, "kubernetes/service.yaml"), "utf8")
  assert.match(ports, /name: operations, containerPort: 9464/)
})

it("every metric is on the dashboard", () => {
  const shown = new Set(
    panelExpressions.flatMap((expression) => seriesOf(expression).map(([, series = ""]) => metricOf(series)))
  )
  assert.sameMembers(Array.from(shown), Object.keys(catalogue))
})
