/**
 * `npm run bench:bulk`: many rows at once, by curl from the service and by psql from the same PostgreSQL, in turns: an
 * import of CSV, inserts of 10,000 rows of JSON, reads of 100,000 rows; backups and restores beside pg_dump and pg_restore.
 * Everything runs on loopback, on a new embedded PostgreSQL in the temporary directory. Exit code 1 if a request fails or
 * rows are lost. Needs psql and curl; Linux only.
 */
import { availableParallelism, loadavg } from "node:os"
import { join } from "node:path"
import { stat, writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { withDriver } from "../databases/bench.ts"
import { measureBackups } from "../databases/backups.ts"
import { median, printTable, whole } from "../rows/table.ts"
import { processorTimeOfAll, resident, watched } from "../support/resources.ts"
import { defaultEntry, type Service, withService } from "../support/service.ts"
import { curl, psql, type Request } from "./programs.ts"
import { list, setup, writeCsv, writeJson } from "./rows.ts"

const help = `npm run bench:bulk -- [options]
  --only a,b      run only these parts: a b c d
  --rounds N      turns of each measurement (default 5)
  --size N        MiB of the database of part d (default 300)
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  import of 400,000 rows of CSV, also as an upsert, relative to psql's \\copy (and INSERT … ON CONFLICT)
  b  POST of 10,000 rows of JSON, relative to INSERT … SELECT from json_populate_recordset
  c  GET of 100,000 rows as CSV and as JSON, relative to COPY … TO STDOUT
  d  backups and restores, relative to pg_dump and pg_restore`

const options = {
  only: { type: "string", default: "a,b,c,d" },
  rounds: { type: "string", default: "5" },
  size: { type: "string", default: "300" },
  "cpu-prof": { type: "boolean", default: false },
  entry: { type: "string", default: defaultEntry },
  help: { type: "boolean", default: false }
} as const

interface Bench {
  readonly service: Service
  readonly rounds: number
  readonly rows: Array<ReadonlyArray<string>>
}

/** A request, and the commands of psql that do the same. */
interface Pair {
  readonly title: string
  /** Of the body; undefined: of the response. */
  readonly bytes: number | undefined
  /** Commands before each turn, which are not measured. */
  readonly before: ReadonlyArray<string>
  readonly commands: ReadonlyArray<string>
  readonly request: Request
  /** Rows that `bench_bulk` must have afterwards. */
  readonly wanted?: number
}

interface Turn {
  readonly seconds: number
  /** Processor time of client, service and PostgreSQL, in seconds. */
  readonly processor: number
}

/** Adds a turn of a client, which returns its seconds. */
const timed = async ({ pid }: Service, turns: Array<Turn>, use: () => Promise<number>) => {
  const before = await processorTimeOfAll(pid)
  const seconds = await use()
  turns.push({ seconds, processor: (await processorTimeOfAll(pid)) - before })
}

const count = (service: Service) =>
  withDriver(service, async (driver) => Number((await driver.query("select count(*) as n from bench_bulk")).rows[0].n))

/** Takes turns of psql and of the service. */
const measure = async ({ rounds, rows, service }: Bench, { before, bytes, commands, request, title, wanted }: Pair) => {
  const [own, base, memory]: [Array<Turn>, Array<Turn>, Array<number>] = [[], [], []]
  let size = bytes
  console.error(`${title} …`)
  const idle = await resident(service.pid)
  for (let round = 0; round < rounds; round++) {
    if (before.length > 0) await psql(service, before)
    await timed(service, base, () => psql(service, commands))
    if (before.length > 0) await psql(service, before)
    const ask = () =>
      timed(service, own, async () => {
        const answer = await curl(service, request)
        size ??= answer.bytes
        return answer.seconds
      })
    memory.push(...(await watched(service.pid, ask, 20)))
    const found = wanted === undefined ? undefined : await count(service)
    if (found !== wanted) throw new Error(`${title}: the table has ${found} rows instead of ${wanted}`)
  }
  const ratios = (key: keyof Turn) => own.map((turn, round) => (base[round]?.[key] ?? Number.NaN) / turn[key])
  const millis = (turns: ReadonlyArray<Turn>, key: keyof Turn) => whole(1000 * median(turns.map((turn) => turn[key])))
  rows.push([
    title,
    ((size ?? 0) / 1e6).toFixed(1),
    millis(base, "seconds"),
    millis(own, "seconds"),
    whole((size ?? 0) / 1e6 / median(own.map(({ seconds }) => seconds))),
    median(ratios("seconds")).toFixed(2),
    `${Math.min(...ratios("seconds")).toFixed(2)}–${Math.max(...ratios("seconds")).toFixed(2)}`,
    millis(base, "processor"),
    millis(own, "processor"),
    median(ratios("processor")).toFixed(2),
    whole(idle),
    whole(Math.max(idle, ...memory))
  ])
}

const truncate = "truncate bench_bulk"
const csvType = { "content-type": "text/csv" }

const imports = async (bench: Bench) => {
  const wanted = 400_000
  const file = join(bench.service.dataDir, "bench.csv")
  await writeCsv(file, wanted)
  const { size: bytes } = await stat(file)
  const copied = `\\copy bench_bulk (${list}) from '${file}' with (format csv, header)`
  const request: Request = { method: "POST", path: "/v1/db/bench_bulk/import", headers: csvType, file }
  await measure(bench, { title: "a import", bytes, before: [truncate], commands: [copied], request, wanted })
  const upsert = { ...request, path: `${request.path}?on_conflict=id` }
  const merged = [
    "begin",
    "create temp table held on commit drop as select * from bench_bulk limit 0",
    copied.replace("bench_bulk", "held"),
    `insert into bench_bulk (${list}) select ${list} from held on conflict (id) do update set name = excluded.name`,
    "commit"
  ]
  const title = "a2 import, on_conflict"
  await measure(bench, { title, bytes, before: [truncate], commands: merged, request: upsert, wanted })
}

const inserts = async (bench: Bench) => {
  const wanted = 10_000
  const file = join(bench.service.dataDir, "bench.json")
  const json = await writeJson(file, wanted)
  const insert = `insert into bench_bulk (${list}) select ${list} from json_populate_recordset(null::bench_bulk, :'json')`
  // psql fills in its variables in a file, not in -c.
  const script = async (name: string, sql: string) => {
    const path = join(bench.service.dataDir, name)
    await writeFile(path, `\\set json \`cat ${file}\`\n${sql};\n`)
    return `\\i ${path}`
  }
  const inserted = await script("insert.sql", insert)
  const returned = await script("returning.sql", `with w as (${insert} returning *) select json_agg(w) from w`)
  const request = (prefer: string): Request => ({
    method: "POST",
    path: "/v1/db/bench_bulk",
    headers: { "content-type": "application/json", prefer },
    file
  })
  const bytes = Buffer.byteLength(json)
  const common = { bytes, before: [truncate], wanted }
  await measure(bench, {
    title: "b POST, return=minimal",
    ...common,
    commands: [inserted],
    request: request("return=minimal")
  })
  await measure(bench, {
    title: "b2 POST, with the rows",
    ...common,
    commands: [returned],
    request: request("return=representation")
  })
}

const reads = async (bench: Bench) => {
  await withDriver(bench.service, async (driver) => {
    const file = join(bench.service.dataDir, "bench-read.csv")
    await writeCsv(file, 100_000)
    await psql(bench.service, [`\\copy bench_read (${list}) from '${file}' with (format csv, header)`])
    await driver.query("vacuum (analyze) bench_read")
  })
  const path = "/v1/db/bench_read"
  const common = { before: [], bytes: undefined }
  const read = (accept: string, query = ""): Request => ({ method: "GET", path: path + query, headers: { accept } })
  const copy = (sql: string, how: string) => [`\\copy (${sql}) to '/dev/null' ${how}`]
  const csv = copy("select * from bench_read", "with (format csv, header)")
  await measure(bench, { title: "c GET as CSV", ...common, commands: csv, request: read("text/csv") })
  const json = copy("select row_to_json(t) from bench_read t", "")
  await measure(bench, { title: "c2 GET as JSON", ...common, commands: json, request: read("application/json") })
  const whole = ["select json_agg(t) from bench_read t"]
  const title = "c3 GET as JSON, to json_agg"
  await measure(bench, { title, ...common, commands: whole, request: read("application/json") })
}

const parts = { a: imports, b: inserts, c: reads }

const head = [
  "",
  "MB",
  "psql ms",
  "service ms",
  "MB/s",
  "ratio",
  "range",
  "processor ms",
  "service",
  "ratio",
  "idle MiB",
  "peak MiB"
]

const main = async () => {
  const values = parseArgs({ options }).values
  const chosen = values.only.split(",")
  if (values.help || chosen.some((part) => part !== "d" && !(part in parts))) {
    console.log(help)
    return values.help ? 0 : 1
  }
  console.log(`Node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`)
  const statements = (password: string) => [`create role bench_driver login superuser password '${password}'`, ...setup]
  const programs = process.env["PG_BIN_DIR"]
  const env = { SVC_DB_MAX_ROWS: "100000", ...(programs === undefined ? {} : { PG_BIN_DIR: programs }) }
  const given = { entry: values.entry, profile: values["cpu-prof"], setup: statements, env }
  return await withService(given, async (service) => {
    const bench: Bench = { service, rounds: Number(values.rounds), rows: [] }
    for (const [part, use] of Object.entries(parts)) if (chosen.includes(part)) await use(bench)
    if (bench.rows.length > 0) printTable(head, bench.rows, 1)
    if (!chosen.includes("d")) return 0
    await psql(service, ["truncate bench_bulk, bench_read"])
    return (await measureBackups("d")({ service, quick: false, size: Number(values.size) })) ? 0 : 1
  })
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 1
})
