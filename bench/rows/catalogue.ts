/** A large database: the cost of reading its catalogue, and its effect on concurrent row requests. */
import { setTimeout as sleep } from "node:timers/promises"
import { makeCatalogue } from "../../src/domain/catalogue/Catalogue.ts"
import { type LoadGenerator, type LoadResult } from "./loadGenerator.ts"
import { now } from "../support/clock.ts"
import { remote } from "../support/remote.ts"
import { scenarios } from "./scenarios.ts"
import { ask, type Service } from "../support/service.ts"
import { decodeCatalogue, readCatalogueText, withClient } from "./statements.ts"
import { median, millis, printTable, whole } from "./table.ts"

const tables = 2_000
const columns =
  "id int primary key, a text, b int default 3, c jsonb, d timestamptz default now(), e text[], f numeric, g uuid"

/** Every table except the first has a foreign key, and every eighth has a view. */
const large = (from: number, to: number) => `do $$ begin
  for n in ${from}..${to} loop
    execute format('create table bench_large_%s (${columns})', n);
    if n > 1 then execute format('alter table bench_large_%s add column of int references bench_large_%s', n, n / 2); end if;
    if n % 8 = 0 then execute format('create view bench_seen_%s as select id, a, of from bench_large_%s', n, n); end if;
  end loop; end $$`

const fill = async ({ credentials, url }: Service) => {
  const step = 250
  for (let from = 1; from <= tables; from += step) {
    await ask(url, credentials.service, "/v1/sql", { sql: large(from, from + step - 1) })
  }
  await ask(url, credentials.service, "/v1/sql", { sql: "analyze pg_catalog.pg_class" })
}

/** Reads the catalogue over a separate connection as the service does; returns the median ms of each step. */
const read = (url: string) =>
  withClient(url, async (client) => {
    const steps: Array<readonly [number, number, number]> = []
    let size = 0
    for (let turn = -1; turn < 5; turn++) {
      const began = now()
      const text = await readCatalogueText(client)
      const received = now()
      const rows = decodeCatalogue(text)
      const decoded = now()
      makeCatalogue(rows)
      if (turn >= 0) steps.push([received - began, decoded - received, now() - decoded])
      size = Buffer.byteLength(text) / 1024 / 1024
    }
    const [sql, decode, index] = [0, 1, 2].map((n) => median(steps.map((step) => step[n] ?? 0)))
    const all = median(steps.map((step) => step[0] + step[1] + step[2]))
    return [size.toFixed(1), ...[sql, decode, index, all].map((took) => millis(took ?? Number.NaN))]
  })

/** Requests a table until it exists; returns the ms since `began`. */
const seen = async ({ credentials, url }: Service, table: string, began: number) => {
  for (;;) {
    const answer = await fetch(`${url}/v1/db/${table}?limit=1`, { headers: { apikey: credentials.service } })
    await answer.arrayBuffer()
    if (answer.status === 200) return now() - began
    await sleep(1)
  }
}

const row = (name: string, { count, failures, max, p50, p99 }: LoadResult) => [
  name,
  whole(count),
  millis(p50),
  millis(p99),
  millis(max),
  String(failures)
]

const measureNotices = async (service: Service, quick: boolean) => {
  const generator = remote<LoadGenerator>("rows/loadGenerator.ts")
  const [byKey] = scenarios
  const paths = byKey?.paths ?? []
  const headers = byKey?.headers(service.credentials) ?? {}
  const during = async (work: () => Promise<unknown>) => {
    await generator.call("begin", { url: service.url, paths, headers })
    await sleep(500)
    await work()
    await sleep(500)
    return generator.call("end", undefined)
  }
  let made = 0
  const ddl = async () => {
    const table = `bench_new_${++made}`
    await ask(service.url, service.credentials.service, "/v1/sql", { sql: `create table ${table} (id int)` })
    return table
  }
  const delays: Array<number> = []
  try {
    await during(() => sleep(1000)) // Warm-up: opens connections, compiles code.
    const calm = await during(() => sleep(quick ? 2000 : 5000))
    const apart = await during(async () => {
      for (let n = 0; n < (quick ? 3 : 10); n++) {
        delays.push(await seen(service, await ddl(), now()))
        await sleep(300)
      }
    })
    const storm = await during(async () => {
      const end = now() + (quick ? 2000 : 5000)
      let table = ""
      while (now() < end) table = await ddl()
      await seen(service, table, now())
    })
    return { calm, apart, storm, delays, made }
  } finally {
    await generator.stop()
  }
}

/** Keeps its tables, so no small database can be measured afterwards. Returns the number of failures. */
export const measureCatalogue = async (service: Service, quick: boolean) => {
  await fill(service)
  console.log(`\ncatalogue: ${whole(tables)} tables, ${whole(tables - 1)} foreign keys, ${tables / 8} views\n`)
  const head = ["MiB", "query ms", "decode", "index", "all", "target"]
  printTable(head, [[...(await read(service.socketUrl)), "1,000"]], 0)
  const { apart, calm, delays, made, storm } = await measureNotices(service, quick)
  console.log("\n   one client that continuously requests a row by key, in ms\n")
  const rows = [
    row("no changes", calm),
    row(`${delays.length} new tables, waiting for each`, apart),
    row(`${made - delays.length} new tables, one after the other`, storm)
  ]
  printTable(["concurrently", "responses", "p50", "p99", "longest", "failed"], rows, 1)
  console.log(
    `\n   a new table is available after ${millis(median(delays))} ms, at most ${millis(Math.max(...delays))}`
  )
  return calm.failures + apart.failures + storm.failures
}
