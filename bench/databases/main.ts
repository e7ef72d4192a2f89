/**
 * `npm run bench:databases`: branches, what requests on one cost, what making one costs others, backups and restores
 * next to the programs of PostgreSQL. Everything runs on loopback, on a new embedded PostgreSQL under the temporary
 * directory. Exit code 1 when a request failed or something is not as it was.
 */
import { cpus, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { measureBackups } from "./backups.ts"
import { type DatabaseBench } from "./bench.ts"
import { type DatabaseClient } from "./client.ts"
import { measureCopy } from "./copy.ts"
import { measureListing } from "./listing.ts"
import { pathWithout } from "./programs.ts"
import { measureRelative } from "./relative.ts"
import { remote } from "../support/remote.ts"
import { setup } from "../rows/scenarios.ts"
import { defaultEntry, type Service, withService } from "../support/service.ts"

const help = `npm run bench:databases -- [options]
  --only a,b      only these parts: a b c d e
  --size N        MiB of the database that is copied and dumped (default 1024)
  --quick         shorter measurements, for a first look
  --cpu-prof      the service writes a CPU profile at its end
  --entry FILE    the service's program (default src/main.ts)

  a  /v1 on a branch relative to the main database
  b  100 branches listed
  c  a branch of a large database while clients ask the main one
  d  backups and restores with the programs of PostgreSQL, found in PG_BIN_DIR or PATH
  e  the same where the service finds none`

/** Each service has parts of its own. */
const services = [
  {
    env: async () => pick("PG_BIN_DIR"),
    parts: { a: measureRelative, b: measureListing, c: measureCopy, d: measureBackups("d") }
  },
  { env: async () => ({ PATH: await pathWithout() }), parts: { e: measureBackups("e") } }
]

/** A variable of ours that the service is to have too. */
const pick = (name: string): Readonly<Record<string, string>> => {
  const value = process.env[name]
  return value === undefined ? {} : { [name]: value }
}

const options = {
  only: { type: "string", default: "a,b,c,d,e" },
  size: { type: "string", default: "1024" },
  quick: { type: "boolean", default: false },
  "cpu-prof": { type: "boolean", default: false },
  entry: { type: "string", default: defaultEntry },
  help: { type: "boolean", default: false }
} as const

type Measure = (bench: DatabaseBench) => Promise<boolean>

const measureAll = async (service: Service, parts: ReadonlyArray<Measure>, quick: boolean, size: number) => {
  const client = remote<DatabaseClient>("databases/client.ts")
  let good = true
  try {
    for (const measure of parts) good = (await measure({ service, client, quick, size })) && good
  } finally {
    await client.stop()
  }
  return good
}

const main = async () => {
  const values = parseArgs({ options }).values
  const chosen = values.only.split(",")
  const size = Number(values.size)
  const known = new Set(services.flatMap(({ parts }) => Object.keys(parts)))
  if (values.help || !(size >= 1) || chosen.some((part) => !known.has(part))) {
    console.log(help)
    return values.help ? 0 : 1
  }
  console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
  const withDriver = (password: string) => [...setup(password), "alter role bench_driver superuser"]
  let good = true
  for (const { env, parts } of services) {
    const wanted = Object.entries(parts).flatMap(([part, measure]) => (chosen.includes(part) ? [measure] : []))
    if (wanted.length === 0) continue
    const options = { entry: values.entry, profile: values["cpu-prof"], setup: withDriver, env: await env() }
    good = (await withService(options, (service) => measureAll(service, wanted, values.quick, size))) && good
  }
  return good ? 0 : 1
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 1
})
