/** Listings of a bucket with many objects. */
import { ask } from "../support/service.ts"
import { type Listed, type StorageBench } from "./client.ts"
import { type Listing } from "./pages.ts"
import { median, millis, printTable, whole } from "../rows/table.ts"

const bucket = "bench-listing"
/** Objects per call to the client. */
const batch = 10_000
const directories = 100

const fill = async ({ client }: StorageBench, total: number) => {
  let seconds = 0
  for (let first = 0; first < total; first += batch) {
    console.error(`c ${whole(first)} of ${whole(total)} …`)
    const done = await client.call("many", { method: "PUT", bucket, first, count: batch, size: 16, connections: 64 })
    seconds += done.seconds
  }
  console.log(`\nc: ${whole(total)} objects of 16 bytes, 64 at once: ${whole(total / seconds)} a second`)
}

/** The ratio of the median durations of the last and the first tenth of the pages. */
const growth = (pages: ReadonlyArray<number>) => {
  const tenth = Math.floor(pages.length / 10)
  if (tenth === 0) return ""
  return (median(pages.slice(-tenth)) / median(pages.slice(0, tenth))).toFixed(2)
}

/** Throws if keys are missing, duplicated or out of order. */
const check = (title: string, { keys, ordered, prefixes }: Listed, wanted: { keys: number; prefixes: number }) => {
  if (keys === wanted.keys && prefixes === wanted.prefixes && ordered) return
  throw new Error(`${title}: ${keys} keys${ordered ? "" : " out of order"} and ${prefixes} common prefixes`)
}

export const measureListing = async (bench: StorageBench, quick: boolean) => {
  const { client, service } = bench
  await ask(service.url, service.credentials.service, "/api/storage/buckets", { name: bucket })
  const total = quick ? 20_000 : 100_000
  await fill(bench, total)
  const api = { url: service.url, apikey: service.credentials.service }
  const everything = { keys: total, prefixes: 0 }
  const below = { keys: total / directories, prefixes: 0 }
  const listings: ReadonlyArray<{ title: string; listing: Omit<Listing, "bucket">; wanted: typeof everything }> = [
    { title: "all", listing: { prefix: "", delimiter: "" }, wanted: everything },
    { title: "prefix d42/, delimiter /", listing: { prefix: "d42/", delimiter: "/" }, wanted: below },
    { title: "delimiter /", listing: { prefix: "", delimiter: "/" }, wanted: { keys: 0, prefixes: directories } }
  ]
  const rows: Array<ReadonlyArray<string>> = []
  for (const by of ["S3", "API"]) {
    for (const { listing, title, wanted } of listings) {
      for (const again of [false, true]) {
        console.error(`c ${by} ${title} …`)
        const name = `${by}, ${title}${again ? ", again" : ""}`
        const listed = await client.call("list", { ...listing, bucket, ...(by === "S3" ? {} : { api }) })
        check(name, listed, wanted)
        const { pages } = listed
        rows.push([
          name,
          whole(pages.length),
          ...[pages[0] ?? Number.NaN, median(pages), Math.max(...pages)].map(millis),
          growth(pages),
          millis(pages.reduce((sum, each) => sum + each, 0))
        ])
      }
    }
  }
  console.log(
    "\nc: milliseconds per page of at most 1,000; growth: the last tenth of the pages relative to the first\n"
  )
  printTable(["", "pages", "first", "median", "max", "growth", "all"], rows, 1)
}
