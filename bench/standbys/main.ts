/**
 * `npm run bench:standbys`: what standbys take from the primary. All servers, the service and the load generator share the
 * machine, so that what tells is the processor time of each for a response, not their rate. `--seconds N` for each
 * measurement.
 */
import { parseArgs } from "node:util"
import { printTable, whole } from "../rows/table.ts"
import { type ClusterServer, startPostgresCluster } from "../support/cluster.ts"
import { load as runLoad } from "../support/processes.ts"
import { processorTimes } from "../support/resources.ts"
import { defaultEntry, withService } from "../support/service.ts"

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } })
const seconds = Number(values.seconds)

const setup = (password: string) => [
  `create role bench_driver superuser login password '${password}'`,
  "create table things (id int primary key, owner text not null, body text not null)",
  "insert into things select n, 'u' || n % 50, repeat('x', 100) from generate_series(1, 10000) n",
  "create index on things (owner)",
  "alter table things enable row level security",
  "create policy readable on things using (true)",
  "grant select on things to anon, authenticated"
]

const requests = [
  { name: "one row", path: "/v1/db/things?id=eq.17" },
  { name: "200 rows of 10,000, by an index", path: "/v1/db/things?owner=eq.u7&order=body" }
]

await using cluster = await startPostgresCluster(2)
const { primary, standbys, url } = cluster
const rows: Array<ReadonlyArray<string>> = []
for (const count of [0, 1, 2]) {
  const used = standbys.slice(0, count)
  const database = `bench_${count}`
  await primary.sql(`create database ${database}`)
  await primary.sql("drop role if exists bench_driver")
  const urlOf = (server: ClusterServer) => url(server).replace(/postgres$/, database)
  const env = {
    DATABASE_URL: urlOf(primary),
    ...(count > 0 && { DATABASE_READ_URLS: used.map(urlOf).join(" ") })
  }
  await withService({ entry: defaultEntry, profile: false, setup, env }, async ({ credentials, pid, url: service }) => {
    await Promise.all(standbys.map(cluster.caughtUp))
    for (const { name, path } of requests) {
      const load = { url: service, method: "GET", paths: [path], headers: { apikey: credentials.anon } }
      await runLoad({ ...load, seconds: 2 })
      const times = async () => {
        const servers = await Promise.all(
          [primary, ...standbys].map(async (server) => (await processorTimes(await server.pid())).postgres)
        )
        return { service: (await processorTimes(pid)).service, servers }
      }
      const before = await times()
      const { count: answers, failures, p50, p99, rate } = await runLoad({ ...load, seconds })
      const after = await times()
      const micros = (from: number, to: number) => whole(((to - from) * 1e6) / answers)
      const ofServers = after.servers.map((to, at) => micros(before.servers[at] ?? 0, to))
      const cells = [whole(rate), String(p50), String(p99), micros(before.service, after.service), ...ofServers]
      rows.push([name, String(count), ...cells, String(failures)])
    }
  })
}
const servers = ["primary", "standby 1", "standby 2"].map((name) => `${name} µs`)
printTable(["request", "standbys", "per second", "p50 ms", "p99 ms", "service µs", ...servers, "failures"], rows, 1)
