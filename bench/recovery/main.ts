/**
 * `npm run bench:recovery`: what archiving the log costs writers, compared in turns with a service that does not archive;
 * how far the archive is behind meanwhile; what it stores of a GiB of log; and how long a restore takes. Everything runs on
 * loopback, in the temporary directory. Exit code 1 if the archive never has everything, or the restored rows are others.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Client } from "pg"
import { type RecoveryState } from "../../src/domain/recovery/Recovery.ts"
import { type Branch, dropBranch, fill, firstRow, manage } from "../databases/bench.ts"
import { median, percentiles, printTable, whole } from "../rows/table.ts"
import { resident } from "../support/resources.ts"
import { defaultEntry, type Service, withService } from "../support/service.ts"

const help = `npm run bench:recovery -- [options]
  --seconds N     length of each slice (default 5)
  --pairs N       slices of each service (default 4)
  --size N        size of the database that is restored, in MiB (default 1024)
  --quick         1 s, 2 pairs, 100 MiB
  --entry FILE    the service's program (default dist/main.mjs)`

const setup = (password: string) => [
  `create role bench_driver login superuser password '${password}'`,
  "create table written (id bigint generated always as identity primary key, at timestamptz not null default now(), body text not null)"
]

const lsnSql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as position"
const positionOf = async (service: Service) => Number((await firstRow(service, lsnSql))["position"])

/** Commits per second of so many sessions that insert one row each time. */
const write = async ({ socketUrl }: Service, sessions: number, seconds: number) => {
  const clients = await Promise.all(
    Array.from({ length: sessions }, async () => {
      const client = new Client({ connectionString: socketUrl })
      await client.connect()
      return client
    })
  )
  const until = performance.now() + seconds * 1000
  let commits = 0
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) {
        await client.query({ name: "write", text: "insert into written (body) values ($1)", values: ["x".repeat(200)] })
        commits++
      }
      await client.end()
    })
  )
  return commits / seconds
}

const stateOf = (service: Service) => manage<RecoveryState>(service, "GET", "/api/backups/pitr")

/** Waits until everything up to now is in the archive. */
const archived = async (service: Service) => {
  const now = Date.now()
  for (let tries = 0; tries < 1200; tries++) {
    const { latest } = await stateOf(service)
    if (Date.parse(latest ?? "") >= now) return
    await sleep(100)
  }
  throw new Error("The archive did not have everything within two minutes")
}

const logBytes = async (archive: string) => {
  let bytes = 0
  for (const entry of await readdir(join(archive, "log"), { recursive: true, withFileTypes: true })) {
    // A piece may be replaced meanwhile.
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0
      )
  }
  return bytes
}

/** Lags in seconds, asked for ten times a second while `use` runs. */
const lags = async (service: Service, use: () => Promise<void>) => {
  const all: Array<number> = []
  const ended = new AbortController()
  const asking = (async () => {
    while (!ended.signal.aborted) {
      const { lag_seconds } = await stateOf(service)
      if (lag_seconds !== null) all.push(lag_seconds)
      await sleep(100)
    }
  })()
  await use().finally(() => ended.abort())
  await asking
  return percentiles(Float32Array.from(all))
}

const measureWriters = async (plain: Service, archiving: Service, archive: string, seconds: number, pairs: number) => {
  const rows: Array<ReadonlyArray<string>> = []
  const [from, stored] = [await positionOf(archiving), await logBytes(archive)]
  for (const sessions of [1, 16]) {
    const ratios: Array<number> = []
    const rates: Array<number> = []
    let before = await write(plain, sessions, seconds)
    for (let n = 0; n < pairs; n++) {
      const rate = await write(archiving, sessions, seconds)
      const after = await write(plain, sessions, seconds)
      ratios.push((2 * rate) / (before + after))
      rates.push(rate)
      before = after
    }
    // Apart from the rates: each question reads the list of the archive.
    const lag = await lags(archiving, async () => void (await write(archiving, sessions, 2 * seconds)))
    rows.push([
      String(sessions),
      whole(median(rates)),
      median(ratios).toFixed(2),
      ratios.map((ratio) => ratio.toFixed(2)).join(" "),
      lag.p50.toFixed(2),
      lag.p99.toFixed(2),
      lag.max.toFixed(2)
    ])
  }
  await archived(archiving)
  const log = (await positionOf(archiving)) - from
  printTable(["writers", "commits/s", "ratio", "each pair", "lag p50 s", "p99", "max"], rows, 0)
  console.log(
    `${whole(log / 2 ** 20)} MiB of log, stored as ${whole((((await logBytes(archive)) - stored) / log) * 1024)} MiB for a GiB\n`
  )
}

const measureRestore = async (service: Service, size: number) => {
  await firstRow(service, "drop table written")
  const bytes = await fill(service, size)
  await archived(service)
  const countSql = "select count(*)::int as rows, sum(hashtextextended(body, 0))::text as sum from bench_large"
  const expected = await firstRow(service, countSql)
  const started = performance.now()
  let peak = 0
  const watching = setInterval(() => void resident(service.pid).then((now) => (peak = Math.max(peak, now))), 250)
  const branch = await manage<Branch>(service, "POST", "/api/backups/pitr", {
    target_time: (await stateOf(service)).latest
  }).finally(() => clearInterval(watching))
  const seconds = (performance.now() - started) / 1000
  const found = await firstRow(service, countSql, branch)
  await dropBranch(service, branch)
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error("The restored rows are not those of before")
  console.log(
    `Restore of ${whole(bytes / 2 ** 20)} MiB: ${whole(seconds)} s, ${whole((seconds * 2 ** 30) / bytes)} s for a GiB; the service took ${whole(peak)} MiB of memory`
  )
}

const options = {
  seconds: { type: "string", default: "5" },
  pairs: { type: "string", default: "4" },
  size: { type: "string", default: "1024" },
  quick: { type: "boolean", default: false },
  entry: { type: "string", default: defaultEntry },
  help: { type: "boolean", default: false }
} as const

const { entry, help: helped, quick, ...values } = parseArgs({ options }).values
if (helped) console.log(help)
else {
  const [seconds, pairs, size] = quick ? [1, 2, 100] : [values.seconds, values.pairs, values.size].map(Number)
  const archive = await mkdtemp(join(tmpdir(), "svc-bench-archive-"))
  const env = { SVC_PITR: "true", SVC_PITR_DIR: archive, SVC_PITR_DRILL: "false" }
  console.log(`Node ${process.version}, ${cpus().length} cores\n`)
  try {
    await withService({ entry, profile: false, setup }, (plain) =>
      withService({ entry, profile: false, setup, env }, async (archiving) => {
        await archived(archiving)
        await measureWriters(plain, archiving, archive, seconds ?? 5, pairs ?? 4)
      })
    )
    await rm(archive, { recursive: true })
    await withService({ entry, profile: false, setup, env }, async (archiving) => {
      await archived(archiving)
      await measureRestore(archiving, size ?? 1024)
    })
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  } finally {
    await rm(archive, { recursive: true, force: true })
  }
}
