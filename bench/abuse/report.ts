/** One table for all patterns, in Markdown. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { whole } from "../rows/table.ts"
import { type Delays } from "./prober.ts"
import { type Measured } from "./run.ts"

const healthMillis = 250
const growthMebibytes = 1024

const head = [
  "| Pattern | Requests | Largest delay of `/healthz`, ms | another key's read, ms | own key's read, ms | Service, MiB | PostgreSQL, MiB | As before after |",
  "|---|---|---|---|---|---|---|---|"
]

const signed = (mebibytes: number) => (Math.round(mebibytes) > 0 ? `+${whole(mebibytes)}` : whole(mebibytes))

const counts = (statuses: Readonly<Record<string, number>>) =>
  Object.entries(statuses)
    .map(([ended, count]) => `${whole(count)} × ${ended}`)
    .join(", ")

const bold = (text: string, missed: boolean) => (missed ? `**${text}**` : text)

const delay = ({ count, failures, max }: Delays) => {
  const failed = counts(failures)
  return `${whole(max)}${failed === "" ? "" : ` (${failed} of ${whole(count)})`}`
}

const after = ({ ended, left, recovered, stopped }: Measured) => {
  if (ended) return "**never: the service ended**"
  const delays = recovered.delays === undefined ? "not within 15 s" : `${recovered.delays.toFixed(1)} s`
  const memory =
    recovered.memory === undefined
      ? `after 15 s service ${signed(left.service)}, PostgreSQL ${signed(left.postgres)} MiB`
      : `memory ${recovered.memory.toFixed(1)} s`
  return `${delays}; ${memory}${stopped ? "; stopped early" : ""}`
}

/** A row of the table. What misses a target is bold. */
export const rowOf = (name: string, measured: Measured) => {
  const { answers, growth, probes } = measured
  const tooMuch = growth.together > growthMebibytes
  const cells = [
    name,
    counts(answers.statuses) || "none finished",
    bold(delay(probes.health), probes.health.max > healthMillis),
    delay(probes.other),
    delay(probes.own),
    bold(whole(growth.service), tooMuch),
    bold(whole(growth.postgres), tooMuch),
    after(measured)
  ]
  return `| ${cells.join(" | ")} |`
}

/** The targets that a pattern missed, and responses that no request may get. */
export const missesOf = ({ answers, ended, growth, probes }: Measured): ReadonlyArray<string> => [
  ...(probes.health.max > healthMillis ? [`/healthz took ${whole(probes.health.max)} ms`] : []),
  ...(Object.keys(probes.health.failures).length > 0 ? [`/healthz failed: ${counts(probes.health.failures)}`] : []),
  ...(growth.together > growthMebibytes ? [`memory grew by ${whole(growth.together)} MiB`] : []),
  ...(ended ? ["the service ended"] : []),
  ...answers.wrong
]

const nameIn = (row: string) => row.split(" | ", 1)[0]

/** Puts rows into the table of a file, in place of earlier ones of the same patterns. */
export const addTo = (file: string, rows: ReadonlyArray<string>) => {
  const kept = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(head.length) : []
  const known = new Map([...kept.filter((row) => row !== ""), ...rows].map((row) => [nameIn(row), row]))
  writeFileSync(file, `${[...head, ...known.values()].join("\n")}\n`)
}

export const table = (rows: ReadonlyArray<string>) => [...head, ...rows].join("\n")
