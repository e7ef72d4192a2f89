/** Creates a branch of a large database, and measures the effect on clients of the main database. */
import { setTimeout as sleep } from "node:timers/promises"
import { type DatabaseBench, dropBranch, fill, firstRow, makeBranch, streamOf } from "./bench.ts"
import { type Stream, type Streamed } from "./client.ts"
import { connections, type Scenario, scenarios } from "../rows/scenarios.ts"
import { sample, type Service } from "../support/service.ts"
import { millis, printTable, whole } from "../rows/table.ts"

const scenario = (id: string) => scenarios.find((each) => each.id === id) as Scenario

/** Reads of one row by its key, and inserts, on separate connections. */
const streamsOf = (service: Service): ReadonlyArray<Stream> => [
  { ...streamOf(service, scenario("a")), connections: connections - 8 },
  { ...streamOf(service, scenario("d")), connections: 8 }
]

interface Measured {
  readonly title: string
  readonly seconds: number
  readonly streams: ReadonlyArray<Streamed>
}

export const measureCopy = async (bench: DatabaseBench) => {
  const { client, quick, service, size } = bench
  console.error(`c filling ${size} MiB …`)
  const bytes = await fill(service, size)
  await sample(service, scenario("a"))
  await sample(service, scenario("d"))
  const countSql = "select count(*)::int as n from bench_inserted"
  const before = Number((await firstRow(service, countSql)).n)

  const during = async <A>(title: string, use: () => Promise<A>) => {
    console.error(`c ${title} …`)
    await client.call("start", streamsOf(service))
    await sleep(1_000)
    const started = performance.now()
    const value = await use()
    const seconds = (performance.now() - started) / 1000
    await sleep(500)
    const streams = await client.call("stop", undefined)
    return { value, measured: { title, seconds, streams } }
  }

  const all: Array<Measured> = []
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    all.push((await during("no branch", () => sleep(3_000))).measured)
    const made = await during("make a branch", () => makeBranch(service, "of a large database"))
    const dropped = await during("drop it", () => dropBranch(service, made.value))
    all.push(made.measured, dropped.measured)
  }

  const confirmed = all.reduce((sum, { streams }) => sum + (streams[1]?.count ?? 0), 0)
  const there = Number((await firstRow(service, countSql)).n) - before
  console.log(
    `\nc: a database of ${whole(bytes / 1024 / 1024)} MiB, with ${connections} concurrent clients at /v1/db\n`
  )
  printTable(
    ["", "seconds", "MB/s", "read p99 ms", "longest", "write p99", "longest", "responses", "failed"],
    all.map(({ seconds, streams, title }) => [
      title,
      seconds.toFixed(2),
      title === "make a branch" ? whole(bytes / 1e6 / seconds) : "",
      ...streams.flatMap(({ each }) => [millis(each.p99), millis(each.max)]),
      whole(streams.reduce((sum, { count }) => sum + count, 0)),
      whole(streams.reduce((sum, { failures }) => sum + failures, 0))
    ]),
    1
  )
  console.log(`\nrows whose insert was confirmed: ${whole(confirmed)}, in the table: ${whole(there)}`)
  const failed = all.flatMap(({ streams }) => streams).find(({ failures }) => failures > 0)
  if (failed !== undefined) console.error(`A request failed: ${failed.failure}`)
  return failed === undefined && confirmed === there
}
