/**
 * `npm run bench:databases`: the cost of requests on a branch, the effect of creating one on other clients, and backups and
 * restores compared with the programs of PostgreSQL. Everything runs on loopback, on a new embedded PostgreSQL in the
 * temporary directory. Exit code 1 if a request fails or restored content differs.
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
  --only a,b      run only these parts: a b c d e
  --size N        MiB of the database that is copied and dumped (default 1024)
  --quick         shorter measurements
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  /v1 on a branch relative to the main database
  b  listing 100 branches
  c  creating a branch of a large database while clients use the main one
  d  backups and restores with the programs of PostgreSQL, found in PG_BIN_DIR or PATH
  e  the same with the built-in pg_dump`

/** Services, each with its parts. */
const services = [
  {
    env: async () => pick("PG_BIN_DIR"),
    parts: { a: measureRelative, b: measureListing, c: measureCopy, d: measureBackups("d") }
  },
  { env: async () => ({ PATH: await pathWithout() }), parts: { e: measureBackups("e") } }
]

/** Passes an environment variable on to the service. */
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
  const ids = new Set(services.flatMap(({ parts }) => Object.keys(parts)))
  if (values.help || !(size >= 1) || chosen.some((part) => !ids.has(part))) {
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
