/**
 * `npm run bench:pooler`: what a PgBouncer in transaction mode costs, and how many of PostgreSQL's sessions it saves. All
 * share the machine, so that what tells is the processor time of each for a response, not the rate. `--seconds N` for each
 * measurement.
 */
import { parseArgs } from "node:util"
import { printTable, whole } from "../rows/table.ts"
import { startPostgresCluster } from "../support/cluster.ts"
import { makePgBouncer } from "../support/pgbouncer.ts"
import { load as runLoad } from "../support/processes.ts"
import { processorTime, processorTimes } from "../support/resources.ts"
import { defaultEntry, withService } from "../support/service.ts"

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } })
const seconds = Number(values.seconds)

const setup = (password: string) => [
  `create role bench_driver superuser login password '${password}'`,
  "create table things (id int primary key, owner text not null, body text not null)",
  "insert into things select n, 'u' || n % 50, repeat('x', 100) from generate_series(1, 10000) n",
  "alter table things enable row level security",
  "create policy readable on things using (true)",
  "grant select on things to anon, authenticated"
]

const requests = [
  { name: "GET one row", load: { method: "GET", paths: ["/v1/db/things?id=eq.17"] } },
  {
    name: "POST /v1/sql",
    load: { method: "POST", paths: ["/v1/sql"], body: JSON.stringify({ sql: "select * from things where id = 17" }) }
  }
]

await using cluster = await startPostgresCluster(0)
const { primary, url } = cluster
const rows: Array<ReadonlyArray<string>> = []
for (const pooled of [false, true]) {
  const database = `bench_${pooled}`
  await primary.sql(`create database ${database}`)
  await primary.sql("drop role if exists bench_driver")
  const direct = url(primary).replace(/postgres$/, database)
  await using pooler = await makePgBouncer(direct, { default_pool_size: 8, query_wait_timeout: 20 })
  const env = pooled ? { DATABASE_URL: pooler.through(direct), DATABASE_DIRECT_URL: direct } : { DATABASE_URL: direct }
  await withService({ entry: defaultEntry, profile: false, setup, env }, async ({ credentials, pid, url: service }) => {
    for (const { load: request, name } of requests) {
      const key = request.method === "GET" ? credentials.anon : credentials.service
      const headers = { apikey: key, "content-type": "application/json" }
      const load = { url: service, headers, ...request }
      await runLoad({ ...load, seconds: 2 })
      const times = async () => ({
        service: (await processorTimes(pid)).service,
        primary: (await processorTimes(await primary.pid())).postgres,
        pooler: await processorTime(pooler.pid())
      })
      const before = await times()
      const { count: answers, failures, p50, p99, rate } = await runLoad({ ...load, seconds })
      const after = await times()
      const micros = (of: keyof typeof before) => whole(((after[of] - before[of]) * 1e6) / answers)
      const [sessions] = await primary.sql("select count(*) as n from pg_stat_activity where datname = $1", [database])
      rows.push([
        name,
        pooled ? "PgBouncer" : "direct",
        whole(rate),
        String(p50),
        String(p99),
        ...(["service", "pooler", "primary"] as const).map(micros),
        String(sessions?.["n"]),
        String(failures)
      ])
    }
  })
}
printTable(
  [
    "request",
    "by",
    "per second",
    "p50 ms",
    "p99 ms",
    "service µs",
    "PgBouncer µs",
    "primary µs",
    "sessions",
    "failures"
  ],
  rows,
  2
)
