/** Objects of 1 KiB, 32 at once: the S3 endpoint and a bare file server, measured alternately. */
import { processorTime } from "../support/resources.ts"
import { ask } from "../support/service.ts"
import { type Many, type StorageBench } from "./client.ts"
import { median, millis, printTable, whole } from "../rows/table.ts"

const bucket = "bench-small"
const connections = 32
const size = 1024

interface Turn {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  /** The server's processor time per object, in µs. */
  readonly processor: number
}

export const measureSmall = async ({ client, files, filesUrl, service }: StorageBench, quick: boolean) => {
  await ask(service.url, service.credentials.service, "/api/storage/buckets", { name: bucket })
  const count = quick ? 2_000 : 10_000
  const synced = { url: filesUrl, sync: true }
  const unsynced = { url: filesUrl, sync: false }
  const contenders: ReadonlyArray<{ title: string; pid: number; many: Pick<Many, "method" | "files"> }> = [
    { title: "PUT files", pid: files.pid, many: { method: "PUT", files: unsynced } },
    { title: "PUT S3", pid: service.pid, many: { method: "PUT" } },
    { title: "PUT files, fsync", pid: files.pid, many: { method: "PUT", files: synced } },
    { title: "GET files", pid: files.pid, many: { method: "GET", files: unsynced } },
    { title: "GET S3", pid: service.pid, many: { method: "GET" } }
  ]
  const turns = new Map(contenders.map(({ title }): [string, Array<Turn>] => [title, []]))
  // Round -1 is a warm-up.
  for (let round = -1; round < (quick ? 2 : 5); round++) {
    console.error(`b round ${round} …`)
    for (const { many, pid, title } of contenders) {
      const first = (round + 1) * count
      const before = await processorTime(pid)
      const { each, seconds } = await client.call("many", { ...many, bucket, first, count, size, connections })
      const processor = (((await processorTime(pid)) - before) * 1e6) / count
      await files.call("settle", undefined)
      if (round >= 0) turns.get(title)?.push({ rate: count / seconds, p50: each.p50, p99: each.p99, processor })
    }
  }
  const rates = (title: string) => (turns.get(title) ?? []).map(({ rate }) => rate)
  const ratio = (title: string, to: string) => {
    const base = rates(to)
    return title === to ? "" : median(rates(title).map((rate, round) => rate / (base[round] ?? Number.NaN))).toFixed(2)
  }
  const rows = contenders.map(({ many: { method }, title }) => {
    const mine = turns.get(title) ?? []
    const of = (pick: (turn: Turn) => number) => median(mine.map(pick))
    return [
      title,
      whole(of(({ rate }) => rate)),
      `${whole(Math.min(...rates(title)))}–${whole(Math.max(...rates(title)))}`,
      ratio(title, `${method} files`),
      method === "PUT" ? ratio(title, "PUT files, fsync") : "",
      millis(of(({ p50 }) => p50)),
      millis(of(({ p99 }) => p99)),
      whole(of(({ processor }) => processor))
    ]
  })
  console.log(
    `\nb: objects of 1 KiB, ${connections} at once, ${whole(count)} per round; µs: processor time of the server per object\n`
  )
  printTable(["", "a second", "from–to", "to files", "to fsync", "p50 ms", "p99", "µs"], rows, 1)
}
