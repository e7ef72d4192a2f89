/**
 * `npm run bench`: the service compared with a bare node:http server that returns the same responses, measured in the
 * same run by the same load generator, and with the same SQL on a bare driver. Everything runs on loopback, on a new
 * embedded PostgreSQL in the temporary directory. Exit code 1 if a request or check fails.
 */
import { cpus } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { measureCatalogue } from "./catalogue.ts"
import { measureAccessLog } from "./accessLog.ts"
import { type LoadResult } from "./load.ts"
import { measureMetrics } from "./metrics.ts"
import { measurePeers } from "./peers.ts"
import { measurePlans } from "./plans.ts"
import { baseline, driver, load } from "../support/processes.ts"
import { processorTimes, type ProcessorTimes, resident } from "../support/resources.ts"
import { connections, drivers, type Scenario, scenarios, setup } from "./scenarios.ts"
import { defaultEntry, sample, type Service, withService } from "../support/service.ts"
import { printTable, whole } from "./table.ts"
import { measureTails } from "./tails.ts"

const ids: ReadonlyArray<string> = [
  ...scenarios,
  ...drivers,
  { id: "log" },
  { id: "metrics" },
  { id: "plan" },
  { id: "tail" },
  { id: "peers" },
  { id: "catalogue" }
].map(({ id }) => id)

const help = `npm run bench -- [options]
  --only a,b      only these rows or parts: ${ids.join(" ")}
  --seconds N     length of each measurement (default 5); under 5, the parts are short too
  --fsync off     PostgreSQL does not wait for the disk
  --memory        resident memory during 60 s of row a, instead of the table
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)`

interface Row {
  readonly id: string
  readonly title: string
  readonly result: LoadResult
  /** Processor time in µs for each successful response. Undefined for rows without HTTP. */
  readonly costs?: ProcessorTimes
  /** Undefined for rows without HTTP. */
  readonly versus: { readonly baseline: number; readonly ratio: number; readonly drift: number } | undefined
  /** Ratio to the same SQL on a bare driver, where that is measured. */
  readonly bySql?: number
}

const slices = 2
const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const tenths = (n: number) => Math.round(n * 10) / 10

const summed = (results: ReadonlyArray<LoadResult>): LoadResult => ({
  rate: mean(results.map(({ rate }) => rate)),
  p50: mean(results.map(({ p50 }) => p50)),
  count: results.reduce((sum, { count }) => sum + count, 0),
  p99: Math.max(...results.map(({ p99 }) => p99)),
  failures: results.reduce((sum, { failures }) => sum + failures, 0)
})

/** The mean ratio of each slice to the measurements before and after it. */
const ratio = (results: ReadonlyArray<LoadResult>, others: ReadonlyArray<LoadResult>) =>
  mean(results.map(({ rate }, n) => rate / mean(others.slice(n, n + 2).map((other) => other.rate))))

const measure = async (service: Service, scenario: Scenario, seconds: number): Promise<ReadonlyArray<Row>> => {
  const bare = await baseline(await sample(service, scenario))
  const { besideSql = false, body, connections, id, method, paths, title } = scenario
  const request = {
    method,
    paths,
    connections,
    headers: scenario.headers(service.credentials),
    ...(body === undefined ? {} : { body })
  }
  const against = (url: string, seconds: number) => load({ ...request, url, seconds })
  try {
    await against(bare.url, 1)
    await against(service.url, 4)
    // The machine's speed varies, so each short slice is between two of the baseline and two of the bare driver.
    const slice = seconds / slices
    const bySql = async () =>
      besideSql ? [await driver({ driver: "pg", scenario: id, url: service.socketUrl, seconds: slice })] : []
    const bases = [await against(bare.url, slice)]
    const drivers = await bySql()
    const results: Array<LoadResult> = []
    const spent = { service: 0, postgres: 0 }
    for (let n = 0; n < slices; n++) {
      const before = await processorTimes(service.pid)
      results.push(await against(service.url, slice))
      const after = await processorTimes(service.pid)
      spent.service += after.service - before.service
      spent.postgres += after.postgres - before.postgres
      drivers.push(...(await bySql()))
      bases.push(await against(bare.url, slice))
    }
    await sample(service, scenario)
    const rates = bases.map(({ rate }) => rate)
    const all = summed(results)
    const row: Row = {
      id,
      title,
      result: { ...all, failures: all.failures + summed(bases).failures },
      costs: { service: (1e6 * spent.service) / all.count, postgres: (1e6 * spent.postgres) / all.count },
      versus: {
        baseline: mean(rates),
        ratio: ratio(results, bases),
        drift: 1 - Math.min(...rates) / Math.max(...rates)
      }
    }
    if (!besideSql) return [row]
    const sql: Row = { id: "", title: `${id}'s SQL on a bare pg pool`, versus: undefined, result: summed(drivers) }
    return [{ ...row, bySql: ratio(results, drivers) }, sql]
  } finally {
    await bare.stop()
  }
}

const print = (rows: ReadonlyArray<Row>) => {
  const cells = rows.map(({ bySql, costs, id, result, title, versus }) => [
    id,
    title,
    whole(result.rate),
    versus === undefined ? "" : whole(versus.baseline),
    versus === undefined ? "" : versus.ratio.toFixed(3),
    costs === undefined ? "" : whole(costs.service),
    costs === undefined ? "" : whole(costs.postgres),
    bySql === undefined ? "" : bySql.toFixed(2),
    versus === undefined ? "" : `${Math.round(100 * versus.drift)} %`,
    String(tenths(result.p50)),
    String(tenths(result.p99)),
    String(result.failures)
  ])
  const head = [
    "",
    "",
    "per second",
    "node:http",
    "ratio",
    "our µs",
    "pg µs",
    "to SQL",
    "drift",
    "p50 ms",
    "p99 ms",
    "failed"
  ]
  printTable(head, cells, 2)
}

const memory = async (service: Service) => {
  const [scenario] = scenarios
  if (scenario === undefined) return 0
  await sample(service, scenario)
  console.log(`idle   ${whole(await resident(service.pid))} MiB`)
  const { method, paths } = scenario
  const headers = scenario.headers(service.credentials)
  const under = load({ url: service.url, seconds: 60, method, paths, headers })
  for (let second = 10; second <= 60; second += 10) {
    await sleep(10_000)
    console.log(`${String(second).padStart(2)} s   ${whole(await resident(service.pid))} MiB`)
  }
  const { failures, rate } = await under
  await sleep(10_000)
  console.log(`after  ${whole(await resident(service.pid))} MiB, ${whole(rate)} requests a second`)
  return failures
}

const table = async (service: Service, chosen: (id: string) => boolean, seconds: number) => {
  const rows: Array<Row> = []
  for (const scenario of scenarios.filter(({ id }) => chosen(id))) {
    console.error(`${scenario.id} …`)
    rows.push(...(await measure(service, scenario, seconds)))
  }
  for (const { driver: name, id, title } of drivers.filter(({ id }) => chosen(id))) {
    console.error(`${id} …`)
    rows.push({
      id,
      title,
      versus: undefined,
      result: await driver({ driver: name, scenario: "a", url: service.socketUrl, seconds })
    })
  }
  const perRequest = rows.find(({ id }) => id === "a")?.costs?.service
  if (rows.length === 0) return { failures: 0, perRequest }
  console.log(
    `\nNode ${process.version}, ${cpus().length} cores, ${connections} connections, ${seconds} s a measurement`
  )
  console.log("ratio: to a bare node:http server with the same response; to SQL: to the same SQL on a bare pg pool;")
  console.log("our and pg µs: processor time of the service and of PostgreSQL for one response;")
  console.log("drift: difference between the measurements of node:http\n")
  print(rows)
  return { failures: rows.reduce((sum, { result }) => sum + result.failures, 0), perRequest }
}

/** The large catalogue is measured last, because its tables stay in the database. */
const measureAll = async (service: Service, chosen: (id: string) => boolean, seconds: number) => {
  const { failures, perRequest } = await table(service, chosen, seconds)
  const light = !chosen("metrics") || (await measureMetrics(perRequest, seconds < 5))
  const planned = !chosen("plan") || (await measurePlans(service, seconds < 5))
  return (
    failures +
    (planned ? 0 : 1) +
    (light ? 0 : 1) +
    (chosen("peers") ? await measurePeers(service, seconds) : 0) +
    (chosen("tail") ? await measureTails(service, seconds < 5) : 0) +
    (chosen("catalogue") ? await measureCatalogue(service, seconds < 5) : 0)
  )
}

const options = {
  only: { type: "string" },
  seconds: { type: "string", default: "5" },
  fsync: { type: "string", default: "on" },
  memory: { type: "boolean", default: false },
  "cpu-prof": { type: "boolean", default: false },
  entry: { type: "string", default: defaultEntry },
  help: { type: "boolean", default: false }
} as const

const parseOptions = () => {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return undefined
  }
}

const main = async () => {
  const values = parseOptions()
  const only = values?.only?.split(",")
  const seconds = Number(values?.seconds)
  if (
    values === undefined ||
    values.help ||
    !(seconds >= 1) ||
    !["on", "off"].includes(values.fsync) ||
    only?.some((id) => !ids.includes(id))
  ) {
    console.log(help)
    return values?.help ? 0 : 1
  }
  const fsync = [`alter system set fsync = ${values.fsync}`, "select pg_reload_conf()"]
  const prepare = (password: string) => [...(values.fsync === "off" ? fsync : []), ...setup(password)]
  const common = {
    entry: values.entry,
    setup: prepare,
    env: { SVC_SUPABASE: "true", SVC_REALTIME_MAX_PER_CLIENT: "10000" }
  }
  return withService({ ...common, profile: values["cpu-prof"] }, async (service) => {
    const chosen = (id: string) => only?.includes(id) ?? true
    const logFailures = !values.memory && chosen("log") ? await measureAccessLog(service, common, 4 * seconds) : 0
    const failures = logFailures + (values.memory ? await memory(service) : await measureAll(service, chosen, seconds))
    if (failures > 0) console.error(`\n${failures} requests or checks failed`)
    return failures > 0 ? 1 : 0
  })
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 1
})
