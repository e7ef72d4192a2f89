/** The tail: percentiles at fixed rates in an open loop, alone and beside other work, with a bare server as the floor. */
import { setTimeout as sleep } from "node:timers/promises"
import { type RealtimeClients } from "../realtime/clients.ts"
import { baseline } from "../support/processes.ts"
import { remote } from "../support/remote.ts"
import { ask, sample, type Service } from "../support/service.ts"
import { type OpenLoop, type OpenLoopResult } from "./openLoop.ts"
import { type Scenario, scenarios } from "./scenarios.ts"
import { millis, printTable, whole } from "./table.ts"

const rates = [2_000, 6_000, 12_000]
/** Of the measurement beside other work. */
const busyRate = 2_000
const sockets = 1_000
const writesPerSecond = 200

const find = (id: string) => {
  const scenario = scenarios.find((scenario) => scenario.id === id)
  if (scenario === undefined) throw new Error(`There is no scenario ${id}`)
  return scenario
}

const row = (name: string, rate: number, { failures, late, max, p50, p99, p999 }: OpenLoopResult) => [
  name,
  whole(rate),
  ...[p50, p99, p999, max, late].map(millis),
  String(failures)
]

/** Inserts, changes of tables, a CSV export and 1,000 clients of the feed, until `end`. */
const startOtherWork = async ({ credentials: { anon, service }, url }: Service) => {
  const sql = (text: string) => ask(url, service, "/v1/sql", { sql: text })
  await sql(
    "create table if not exists bench_exported as select n as id, repeat('text ', 20) as text from generate_series(1, 200000) n"
  )
  await sql("create table if not exists bench_watched (id bigint generated always as identity primary key, n int)")
  await sql("grant select on bench_watched to anon")
  await ask(url, service, "/api/realtime/subscribe", { table: "bench_watched" })
  const clients = remote<RealtimeClients>("realtime/clients.ts")
  await clients.call("open", {
    clients: sockets,
    headers: { apikey: anon },
    tokens: [],
    url: `${url.replace("http", "ws")}/realtime`
  })
  const stop = new AbortController()
  let failures = 0
  const repeat = async (pause: number, act: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      await act(turn).catch(() => failures++)
      await sleep(pause)
    }
  }
  const insert = find("d")
  const loops = [
    repeat(1000 / writesPerSecond, async () => {
      const response = await fetch(url + insert.paths[0], {
        method: "POST",
        headers: insert.headers({ anon, service, jwt: "" }),
        body: insert.body ?? null
      })
      if (!response.ok) throw new Error(await response.text())
      await response.arrayBuffer()
    }),
    repeat(1000, (turn) => sql(`create table bench_beside_${turn} (id int primary key)`)),
    repeat(500, () => sql("insert into bench_watched (n) values (1)")),
    repeat(0, async () => {
      const response = await fetch(`${url}/v1/db/bench_exported`, { headers: { apikey: service, accept: "text/csv" } })
      for await (const _ of response.body ?? []) if (stop.signal.aborted) break
    })
  ]
  return {
    failures: () => failures,
    end: async () => {
      stop.abort()
      await Promise.all(loops)
      await clients.stop()
    }
  }
}

/** Returns the number of failures. */
export const measureTails = async (service: Service, quick: boolean) => {
  const generator = remote<OpenLoop>("rows/openLoop.ts")
  const seconds = quick ? 3 : 10
  const read = find("a")
  const insert = find("d")
  const bare = await baseline(await sample(service, read))
  const at = (url: string, scenario: Scenario, rate: number, seconds: number) =>
    generator.call("run", {
      url,
      rate,
      seconds,
      method: scenario.method,
      paths: scenario.paths,
      headers: scenario.headers(service.credentials),
      ...(scenario.body === undefined ? {} : { body: scenario.body })
    })
  const lines: Array<ReadonlyArray<string>> = []
  let failed = 0
  const measure = async (name: string, url: string, scenario: Scenario, rate: number) => {
    const result = await at(url, scenario, rate, seconds)
    failed += result.failures
    lines.push(row(name, rate, result))
  }
  try {
    await at(service.url, read, 2_000, 3)
    await at(service.url, insert, 1_000, 2)
    for (const rate of rates) {
      console.error(`tail at ${rate} …`)
      await measure("node:http", bare.url, read, rate)
      await measure("one row", service.url, read, rate)
    }
    await measure("insert", service.url, insert, 2_000)
    console.error("tail beside other work …")
    const other = await startOtherWork(service)
    await measure(`one row, beside other work`, service.url, read, busyRate)
    await other.end()
    failed += other.failures()
  } finally {
    await Promise.all([generator.stop(), bare.stop()])
  }
  console.log("\ntail: ms at fixed rates from the moment at which a request was due; late: of the generator itself\n")
  printTable(["", "a second", "p50", "p99", "p99.9", "longest", "late", "failed"], lines, 1)
  return failed
}
