/** Rows inserted per second without a trigger and with each kind of trigger, in short alternating slices. */
import { type Inserters } from "./inserters.ts"
import { type Remote } from "../support/remote.ts"
import { type Sink } from "./sink.ts"
import { printTable, whole } from "../rows/table.ts"

/** `answers`: the receiver responds, so that deliveries compete with the writers for the CPU. */
const kinds = [
  { title: "no trigger", table: "bench_plain", answers: false },
  { title: "webhook, receiver does not respond", table: "bench_hooked", answers: false },
  { title: "webhook, delivering at the same time", table: "bench_hooked", answers: true },
  { title: "realtime", table: "bench_realtime", answers: false }
]

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const compare = async (inserters: Remote<Inserters>, sink: Remote<Sink>, many: boolean, quick: boolean) => {
  const rates = kinds.map((): Array<number> => [])
  const rounds = quick ? 2 : 4
  const seconds = quick ? 1 : 3
  await sink.call("hold", true)
  for (const { table } of kinds) await inserters.call("run", { table, seconds: 1, many })
  for (let round = 0; round < rounds; round++) {
    for (const [n, { answers, table }] of kinds.entries()) {
      if (answers) await sink.call("hold", false)
      rates[n]?.push(await inserters.call("run", { table, seconds, many }))
      await sink.call("hold", true)
    }
  }
  const plain = rates[0] ?? []
  return kinds.map(({ title }, n) => {
    const mine = rates[n] ?? []
    const ratios = mine.map((rate, round) => rate / (plain[round] ?? Number.NaN))
    return [
      many ? "1,000 rows a statement, 4 connections" : "1 row a statement, 32 connections",
      title,
      whole(mean(mine)),
      mean(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
    ]
  })
}

export const compareInserts = async (inserters: Remote<Inserters>, sink: Remote<Sink>, quick: boolean) => {
  console.error("c single rows …")
  const single = await compare(inserters, sink, false, quick)
  console.error("c many rows …")
  const bulk = await compare(inserters, sink, true, quick)
  console.log("\nc: ratio to the slice without a trigger in the same round")
  printTable(["", "", "rows/s", "ratio", "from–to"], [...single, ...bulk], 2)
}
