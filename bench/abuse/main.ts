/**
 * `npm run check:abuse`: whether a client with an anon key, or without any, can keep a service from serving others or take
 * the machine's memory. Every pattern has a new service with its own PostgreSQL in the temporary directory. Exit code 1 if
 * a pattern misses a target or gets a response that no request may get.
 */
import { parseArgs } from "node:util"
import { defaultEntry } from "../support/service.ts"
import { repeat } from "./fuzz.ts"
import { patternOf, patterns } from "./patterns/all.ts"
import { addTo, missesOf, rowOf, table } from "./report.ts"
import { type Measured, measure, withTarget } from "./run.ts"

const help = `npm run check:abuse -- [options]
  --only a,b       only these patterns, or groups by prefix: s3-*
  --seconds N      duration of each pattern (default 8)
  --sockets N      connections of most patterns (default 64)
  --fuzz N         N random requests on 32 connections instead of the patterns
  --seed N         of the random requests (default: from the clock)
  --repeat S:N     only the random request N of seed S; prints it and its response
  --table FILE     also puts the rows into the table of this file
  --list           the patterns
  --entry FILE     the service's program (default dist/main.mjs)

Targets: /healthz takes at most 250 ms, memory grows by at most 1 GiB, every error has its body, and there are no 5xx but
503 and 504. Linux only.`

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "*" },
    seconds: { type: "string", default: "8" },
    sockets: { type: "string", default: "64" },
    fuzz: { type: "string", default: "0" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    repeat: { type: "string" },
    table: { type: "string" },
    list: { type: "boolean", default: false },
    entry: { type: "string", default: defaultEntry },
    help: { type: "boolean", default: false }
  }
})

const selected = () =>
  values.only.split(",").flatMap((name) => {
    if (!name.endsWith("*")) return [patternOf(name)]
    return patterns.filter((pattern) => pattern.name.startsWith(name.slice(0, -1)))
  })

const rows: Array<string> = []
const missed: Array<string> = []

const report = (name: string, measured: Measured) => {
  const row = rowOf(name, measured)
  rows.push(row)
  if (values.table !== undefined) addTo(values.table, [row])
  const { busy, probes } = measured
  console.error(`${row}\n  client ${Math.round(busy * 100)} % of a core, prober late by ${Math.round(probes.late)} ms`)
  for (const miss of missesOf(measured)) missed.push(`${name}: ${miss}`)
}

const attackAll = async () => {
  const [seconds, sockets] = [Number(values.seconds), Number(values.sockets)]
  for (const { name, needs = [], title } of selected()) {
    console.error(`${name}: ${title}`)
    const once = () =>
      withTarget(values.entry, needs, (target, service) =>
        measure(target, service, (attacker) => attacker.call("attack", { pattern: name, target, seconds, sockets }))
      )
    try {
      // A port that was free may be taken when the service starts.
      report(name, await once().catch(once))
    } catch (error) {
      missed.push(`${name}: ${String(error)}`)
    }
  }
}

const fuzzFixtures = ["flags", "bucket"] as const

const fuzzAll = async () => {
  const seed = Number(values.seed)
  console.error(`${values.fuzz} random requests of seed ${seed}`)
  const options = { seed, first: 0, count: Number(values.fuzz), sockets: 32, slowMillis: 1_000 }
  const measured = await withTarget(values.entry, fuzzFixtures, (target, service) =>
    measure(target, service, (attacker) => attacker.call("fuzz", { target, ...options }))
  )
  report(`fuzz, seed ${seed}`, measured)
  const { millis, request } = measured.answers.slowest
  console.log(`The slowest took ${Math.round(millis)} ms: ${request}`)
}

const repeatOne = (seed: number, n: number) =>
  withTarget(values.entry, fuzzFixtures, async (target) => {
    const { fault, response, sent } = await repeat(seed, n, target)
    console.log(`${sent}\n\n${response === undefined ? "No response" : `${response.head}\n\n${response.body}`}`)
    if (response === undefined || fault !== undefined) missed.push(fault ?? "no response")
  })

const main = async () => {
  if (values.repeat !== undefined) {
    const [seed = 0, n = 0] = values.repeat.split(":").map(Number)
    await repeatOne(seed, n)
  } else {
    await (Number(values.fuzz) > 0 ? fuzzAll() : attackAll())
    console.log(`\n${table(rows)}\n`)
  }
  for (const miss of missed) console.log(miss)
  process.exitCode = missed.length === 0 ? 0 : 1
}

if (values.help) console.log(help)
else if (values.list) for (const { name, title } of patterns) console.log(`${name.padEnd(24)}${title}`)
else await main()
