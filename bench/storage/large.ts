/** Large objects, one at a time and four at once: the S3 endpoint and a bare file server, measured alternately. */
import { processorTime, resident, watched } from "../support/resources.ts"
import { ask } from "../support/service.ts"
import { type Large, type StorageBench } from "./client.ts"
import { median, printTable, whole } from "../rows/table.ts"

interface Contender {
  readonly title: string
  /** The titles of the contenders that it is compared with. */
  readonly against: ReadonlyArray<string>
  readonly pid: number
  readonly large: Large
}

interface Turn {
  /** MB (10⁶ bytes) a second. */
  readonly rate: number
  /** Processor seconds of the server per GB. */
  readonly processor: number
}

const bucket = "bench-large"

/** A presigned URL from the service, with its headers. */
const presigned = async ({ service }: StorageBench, method: "PUT" | "GET", key: string) => {
  const path = `/api/storage/buckets/${bucket}/objects/presign-${method === "PUT" ? "upload" : "download"}`
  const answer = await ask(service.url, service.credentials.service, path, {
    key,
    expiresIn: 3600,
    ...(method === "PUT" ? { contentType: "application/octet-stream" } : {})
  })
  return answer as { readonly url: string; readonly headers?: Record<string, string> }
}

const contenders = async (bench: StorageBench, method: "PUT" | "GET", atOnce: number) => {
  const { files, filesUrl, service } = bench
  const keys = Array.from({ length: atOnce }, (_, n) => `large-${n}`)
  const signed = await Promise.all(keys.map((key) => presigned(bench, method, key)))
  const own = {
    title: "S3, presigned",
    pid: service.pid,
    large: { method, urls: signed.map(({ url }) => url), headers: signed[0]?.headers ?? {}, signed: false }
  }
  const bare = (title: string, query: string): Contender => ({
    title,
    against: [],
    pid: files.pid,
    large: { method, urls: keys.map((key) => `${filesUrl}/${key}${query}`), headers: {}, signed: false }
  })
  if (method === "GET") return [bare("files", ""), { ...own, against: ["files"] }]
  const against = ["files", "files, fsync"]
  const urls = keys.map((key) => `${service.s3Url}/${bucket}/${key}`)
  return [
    bare("files", ""),
    { ...own, against },
    bare("files, fsync", "?sync"),
    { title: "S3, payload signed", against, pid: service.pid, large: { method, urls, headers: {}, signed: true } }
  ]
}

const turn = async ({ client, files }: StorageBench, { large, pid }: Contender, bytes: number): Promise<Turn> => {
  const before = await processorTime(pid)
  const { seconds } = await client.call("transfer", large)
  const processor = (await processorTime(pid)) - before
  await files.call("settle", undefined)
  const total = bytes * large.urls.length
  return { rate: total / 1e6 / seconds, processor: (processor * 1e9) / total }
}

const rowsOf = (all: ReadonlyArray<Contender>, turns: ReadonlyMap<string, ReadonlyArray<Turn>>, id: string) =>
  all.map(({ against, title }) => {
    const mine = (turns.get(title) ?? []).map(({ rate }) => rate)
    const ratios = ["files", "files, fsync"].map((name) => {
      if (!against.includes(name)) return ""
      return median(mine.map((rate, round) => rate / (turns.get(name)?.[round]?.rate ?? Number.NaN))).toFixed(2)
    })
    const range = `${whole(Math.min(...mine))}–${whole(Math.max(...mine))}`
    const processor = median((turns.get(title) ?? []).map(({ processor }) => processor)).toFixed(1)
    return [id, title, whole(median(mine)), range, ...ratios, processor]
  })

export const measureLarge = async (bench: StorageBench, quick: boolean) => {
  const { client, service } = bench
  const bytes = (quick ? 32 : 100) * 1024 * 1024
  await ask(service.url, service.credentials.service, "/api/storage/buckets", { name: bucket })
  await client.call("prepareLarge", bytes)
  const rows: Array<ReadonlyArray<string>> = []
  const memory: Array<ReadonlyArray<string>> = []
  for (const atOnce of [1, 4]) {
    for (const method of ["PUT", "GET"] as const) {
      const id = `${method} ${atOnce} at once`
      console.error(`a ${id} …`)
      const all: ReadonlyArray<Contender> = await contenders(bench, method, atOnce)
      const turns = new Map(all.map(({ title }): [string, Array<Turn>] => [title, []]))
      const idle = await resident(service.pid)
      const samples = await watched(service.pid, async () => {
        for (const each of all) await turn(bench, each, bytes)
        for (let round = 0; round < (quick ? 2 : 7); round++) {
          for (const each of all) turns.get(each.title)?.push(await turn(bench, each, bytes))
        }
      })
      rows.push(...rowsOf(all, turns, id))
      const half = Math.floor(samples.length / 2)
      const parts = [samples.slice(0, half), samples.slice(half)]
      memory.push([id, ...[[idle], ...parts.map((part) => [median(part), Math.max(...part)])].flat().map(whole)])
    }
  }
  const size = `${bytes / 1024 / 1024} MiB`
  console.log(
    `\na: objects of ${size}; ratios are medians of those within a round; CPU: seconds of the server per GB\n`
  )
  printTable(["", "", "MB/s", "from–to", "to files", "to fsync", "CPU"], rows, 2)
  console.log("\na: resident MiB, sampled every 250 ms, in the first and second half of each\n")
  printTable(["", "before", "median", "max", "median", "max"], memory, 1)
}
