/** Rows inserted per second without a trigger and with each kind of trigger, in short alternating slices. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Inserters } from "./inserters.ts"
import { type Remote } from "../support/remote.ts"
import { type Service } from "../support/service.ts"
import { type Sink } from "./sink.ts"
import { printTable, whole } from "../rows/table.ts"

/** `answers`: the receiver responds, so that deliveries compete with the writers for the CPU. */
const kinds = [
  { title: "no trigger", table: "bench_plain", answers: false },
  { title: "webhook, receiver does not respond", table: "bench_hooked", answers: false },
  { title: "webhook, delivering at the same time", table: "bench_hooked", answers: true },
  { title: "realtime", table: "bench_realtime", answers: false }
]

/** Writers: 32 take both of two cores; one that waits for the disk leaves time to the reader of the changes. */
const loads = [
  { title: "1 row a statement, 1 connection", many: false, connections: 1 },
  { title: "1 row a statement, 4 connections", many: false, connections: 4 },
  { title: "1 row a statement, 32 connections", many: false, connections: 32 },
  { title: "1,000 rows a statement, 4 connections", many: true, connections: 4 }
] as const
type Load = (typeof loads)[number]

/** With changes from the log, what a slice has written must not be read at the expense of the next one. */
const changesAreRead = async ({ credentials, url }: Service) => {
  for (;;) {
    const answer = await fetch(`${url}/api/changes`, { headers: { apikey: credentials.service } })
    const { lag_bytes = null } = (await answer.json()) as { readonly lag_bytes?: number | null }
    if (lag_bytes === null || lag_bytes < 65_536) return
    await sleep(100)
  }
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

interface Processes {
  readonly service: Service
  readonly inserters: Remote<Inserters>
  readonly sink: Remote<Sink>
}

const compare = async ({ inserters, service, sink }: Processes, load: Load, quick: boolean) => {
  const { connections, many } = load
  const rates = kinds.map((): Array<number> => [])
  const rounds = quick ? 2 : 4
  const seconds = quick ? 1 : 3
  await sink.call("hold", true)
  for (const { table } of kinds) await inserters.call("run", { table, seconds: 1, many, connections })
  for (let round = 0; round < rounds; round++) {
    for (const [n, { answers, table }] of kinds.entries()) {
      await changesAreRead(service)
      if (answers) await sink.call("hold", false)
      rates[n]?.push(await inserters.call("run", { table, seconds, many, connections }))
      await sink.call("hold", true)
    }
  }
  const plain = rates[0] ?? []
  return kinds.map(({ title }, n) => {
    const mine = rates[n] ?? []
    const ratios = mine.map((rate, round) => rate / (plain[round] ?? Number.NaN))
    return [
      load.title,
      title,
      whole(mean(mine)),
      mean(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
    ]
  })
}

export const compareInserts = async (processes: Processes, quick: boolean) => {
  console.log("\nc: ratio to the slice without a trigger in the same round")
  for (const load of loads) {
    console.error(`c ${load.title} …`)
    printTable(["", "", "rows/s", "ratio", "from–to"], await compare(processes, load, quick), 2)
  }
}
