/**
 * `npm run bench:webhooks`: deliveries to a receiver on loopback, compared to a bare node:http client that posts the
 * same bodies; a backlog and its memory; the cost of the triggers for writers. Everything runs on a new embedded
 * PostgreSQL in the temporary directory. Exit code 1 if a delivery is lost.
 */
import { cpus, loadavg } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { type Inserters } from "../events/inserters.ts"
import { type Poster } from "../events/poster.ts"
import { runProgram } from "../support/program.ts"
import { type Remote, remote } from "../support/remote.ts"
import { processorTime, resident } from "../support/resources.ts"
import { ask, type Service } from "../support/service.ts"
import { type Received, type Sink } from "../events/sink.ts"
import { millis, printTable, whole } from "../rows/table.ts"
import { compareInserts } from "../events/triggerCost.ts"
import { makeWriter, type Writer, type Written } from "../events/writer.ts"

const help = `npm run bench:webhooks -- [options]
  --only a,b      only these parts: a b c
  --quick         shorter measurements, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  SVC_CHANGES=wal measures changes from the write-ahead log
  --entry FILE    the service's program (default dist/main.mjs)

  a  10,000 rows written at once, then 200 rows per second
  b  a backlog of 50,000 for a receiver that does not respond at first
  c  rows inserted per second, without a trigger and with each kind`

const tables = ["bench_hook", "bench_plain", "bench_hooked", "bench_realtime"]
const setup = (password: string) => [
  `create role bench_driver login password '${password}'`,
  ...tables.flatMap((table) => [
    `create table ${table} (id bigint generated always as identity primary key, n int, title text, done boolean)`,
    `grant insert on ${table} to bench_driver`
  ])
]

/** A pause of the receiver must not make attempts fail. */
const env = {
  WEBHOOK_ALLOW_PRIVATE: "true",
  WEBHOOK_TIMEOUT: "5m",
  SVC_CHANGES: process.env["SVC_CHANGES"] ?? "trigger"
}

interface Bench {
  readonly service: Service
  readonly sink: Remote<Sink>
  readonly sinkUrl: string
  readonly writer: Writer
}

interface Row extends Received {
  readonly title: string
  readonly count: number
  /** CPU time of the service, and elapsed time, in seconds. */
  readonly processor: number
  readonly passed: number
}

/** After this time without arrivals, missing deliveries count as lost; longer than a retry takes. */
const quietMillis = 15_000

const arrived = async (sink: Remote<Sink>, wanted: number) => {
  let before = -1
  for (let quiet = 0; quiet < quietMillis; quiet += 50) {
    const received = await sink.call("progress", undefined)
    if (received >= wanted) return
    if (received > before) quiet = 0
    before = received
    await sleep(50)
  }
}

const measure = async ({ service, sink }: Bench, title: string, write: () => Promise<Written>): Promise<Row> => {
  console.error(`${title} …`)
  const [before, started] = [await processorTime(service.pid), performance.now()]
  const { committed } = await write()
  await arrived(sink, committed.length)
  const [after, passed] = [await processorTime(service.pid), (performance.now() - started) / 1000]
  const received = await sink.call("receipts", committed)
  return { ...received, title, count: committed.length, processor: after - before, passed }
}

/** The same number of bodies, posted by a bare client. */
const floor = async ({ sink, sinkUrl }: Bench, count: number): Promise<Row> => {
  console.error("a bare node:http …")
  const poster = remote<Poster>("events/poster.ts")
  const first = 1_000_000_000
  for (const wanted of [2_000, count]) {
    await sink.call("expect", { first, count: wanted })
    await poster.call("run", { first, count: wanted, url: sinkUrl })
  }
  const received = await sink.call("receipts", [])
  await poster.stop()
  return { ...received, title: "a bare node:http client", count, processor: Number.NaN, passed: Number.NaN }
}

const deliveries = async (bench: Bench, quick: boolean) => {
  const { writer } = bench
  await measure(bench, "a warm-up", () => writer.writeMany(1_000))
  const count = quick ? 3_000 : 10_000
  return [
    await measure(bench, `a ${whole(count)} rows at once`, () => writer.writeMany(count)),
    await measure(bench, `a ${whole(count)} rows at once, again`, () => writer.writeMany(count)),
    await floor(bench, count),
    await measure(bench, "a 200 rows per second", () => writer.write(200, quick ? 5 : 30))
  ]
}

const backlog = async (bench: Bench, quick: boolean) => {
  const { service, sink, writer } = bench
  const memory: Array<number> = []
  const received: Array<number> = []
  const note = async () => {
    memory.push(Math.round(await resident(service.pid)))
    received.push(await sink.call("progress", undefined))
  }
  const timer = setInterval(() => void note(), 1000)
  await note()
  const count = quick ? 10_000 : 50_000
  const row = await measure(bench, `b ${whole(count)} behind a held receiver`, async () => {
    await sink.call("hold", true)
    const written = await writer.writeMany(count)
    await sleep(2_000)
    await sink.call("hold", false)
    return written
  })
  clearInterval(timer)
  console.log(`\nb, each second: resident MiB  ${memory.join(" ")}`)
  console.log(`                received      ${received.join(" ")}`)
  return row
}

const print = (rows: ReadonlyArray<Row>) => {
  const head = ["", "rows", "lost", "again", "seconds", "per second", "p50 ms", "p95", "p99", "max", "CPU", "µs each"]
  console.log()
  printTable(
    head,
    rows.map((row) => [
      row.title,
      whole(row.count),
      whole(row.missing),
      whole(row.again),
      (row.took / 1000).toFixed(1),
      whole(((row.count - row.missing) * 1000) / row.took),
      ...[row.fromCommit.p50, row.fromCommit.p95, row.fromCommit.p99, row.fromCommit.max].map((ms) =>
        Number.isNaN(row.passed) ? "" : millis(ms)
      ),
      Number.isNaN(row.passed) ? "" : `${whole((100 * row.processor) / row.passed)} %`,
      millis((row.processor * 1e6) / row.count)
    ]),
    1
  )
}

const watch = ({ service, sinkUrl }: Bench, table: string) =>
  ask(service.url, service.credentials.service, "/api/webhooks", {
    name: table,
    table_name: table,
    events: ["INSERT"],
    url: sinkUrl,
    secret: "a secret of the bench program"
  })

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  const sink = remote<Sink>("events/sink.ts")
  const sinkUrl = await sink.call("start", undefined)
  const writer = await makeWriter(service.databaseUrl, "bench_hook", (first, count) =>
    sink.call("expect", { first, count })
  )
  const bench: Bench = { service, sink, sinkUrl, writer }
  console.log(
    `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before; times from the commit to the receiver`
  )
  await watch(bench, "bench_hook")
  const rows: Array<Row> = []
  if (wants("a")) rows.push(...(await deliveries(bench, quick)))
  if (wants("b")) rows.push(await backlog(bench, quick))
  if (rows.length > 0) print(rows)
  if (wants("c")) {
    await watch(bench, "bench_hooked")
    await ask(service.url, service.credentials.service, "/api/realtime/subscribe", { table: "bench_realtime" })
    const inserters = remote<Inserters>("events/inserters.ts")
    await inserters.call("open", service.databaseUrl)
    await compareInserts({ service, inserters, sink }, quick)
    await inserters.stop()
  }
  await Promise.all([writer.end(), sink.stop()])
  return rows.some(({ missing }) => missing > 0) ? 1 : 0
}

await runProgram({ help, parts: "abc", service: { env, setup }, run })
