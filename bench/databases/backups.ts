/** Backups and restores by the service, compared with pg_dump and pg_restore run by hand, in turns. */
import { mkdir, rm, stat } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { type Branch, type DatabaseBench, dropBranch, fill, firstRow, manage, withDriver } from "./bench.ts"
import { findPrograms, type Programs, run } from "./programs.ts"
import { processorTimeOfAll, resident, watched } from "../support/resources.ts"
import { type Service } from "../support/service.ts"
import { median, printTable, whole } from "../rows/table.ts"

interface Backup {
  readonly id: number
  readonly status: "in_progress" | "completed" | "failed"
  readonly size_bytes: number
  readonly error: string | null
  readonly strategy: string | null
  readonly tool_version: string | null
}

interface Turn {
  readonly seconds: number
  /** Processor time of service, PostgreSQL and programs, in seconds. */
  readonly processor: number
  /** Size of the file in bytes. */
  readonly file: number
}

const since = (started: number) => (performance.now() - started) / 1000

const backUp = async (service: Service) => {
  const started = performance.now()
  const made = await manage<Backup>(service, "POST", "/api/backups", { label: "bench" })
  for (;;) {
    const backup = await manage<Backup>(service, "GET", `/api/backups/${made.id}`)
    if (backup.status === "completed") return { backup, seconds: since(started) }
    if (backup.status === "failed") throw new Error(`The backup failed: ${backup.error}`)
    await sleep(50)
  }
}

const restore = async (service: Service, { id }: Backup) => {
  const started = performance.now()
  const branch = await manage<Branch>(service, "POST", `/api/backups/${id}/restore`)
  return { branch, seconds: since(started) }
}

/** Row count and hash of the large table of a database. */
const content = async ({ databaseUrl }: Service, database: string) => {
  const url = new URL(databaseUrl)
  url.pathname = `/${database}`
  const driver = new Client({ connectionString: url.href })
  await driver.connect()
  try {
    const sql = "select count(*)::text as rows, sum(hashtextextended(t::text, 0))::text as hash from bench_large t"
    return JSON.stringify((await driver.query(sql)).rows)
  } finally {
    await driver.end()
  }
}

/** Throws when a restored branch differs from the database. */
const compare = async (service: Service, database: string) => {
  const [source, restored] = [await content(service, "postgres"), await content(service, database)]
  if (source !== restored) throw new Error(`The restored branch differs: ${restored} instead of ${source}`)
}

type Turns = Map<string, Array<Turn>>

const note = (turns: Turns, title: string, turn: Turn) => turns.set(title, [...(turns.get(title) ?? []), turn])

const serviceTitles = { dump: "POST /api/backups", restore: "POST /api/backups/{id}/restore" }

/** Options for the runs by hand: the defaults, and faster ones. */
const variants = ({ zstd }: Programs) => ({
  dump: [[], [zstd ? "--compress=zstd" : "--compress=3"]],
  restore: [[], [`--jobs=${Math.max(2, Math.min(4, availableParallelism()))}`]]
})

const titleOf = (program: string, options: ReadonlyArray<string>) => [program, ...options].join(" ")

/** Runs `use`; also returns the processor time that it took. */
const timed = async <A>({ pid }: Service, use: () => Promise<A>): Promise<[result: A, processor: number]> => {
  const before = await processorTimeOfAll(pid)
  const result = await use()
  return [result, (await processorTimeOfAll(pid)) - before]
}

const serviceTurn = async (service: Service, turns: Turns, first: boolean) => {
  const [{ backup, seconds }, processor] = await timed(service, () => backUp(service))
  note(turns, serviceTitles.dump, { seconds, processor, file: backup.size_bytes })
  const [restored, ofRestore] = await timed(service, () => restore(service, backup))
  note(turns, serviceTitles.restore, { seconds: restored.seconds, processor: ofRestore, file: backup.size_bytes })
  if (first) await compare(service, restored.branch.database_name)
  await dropBranch(service, restored.branch)
  await manage(service, "DELETE", `/api/backups/${backup.id}`)
  return `${backup.strategy} ${backup.tool_version}`
}

const handTurn = async (service: Service, turns: Turns, programs: Programs) => {
  const directory = join(service.dataDir, "bench-dumps")
  await mkdir(directory, { recursive: true })
  const file = join(directory, "by-hand.dump")
  const { dump, restore } = variants(programs)
  for (const options of dump) {
    const dumped = () => run(programs, "pg_dump", ["-Fc", ...options, "-f", file, "-d", service.databaseUrl])
    const [seconds, processor] = await timed(service, dumped)
    note(turns, titleOf("pg_dump -Fc", options), { seconds, processor, file: (await stat(file)).size })
  }
  const { size } = await stat(file)
  const url = new URL(service.databaseUrl)
  url.pathname = "/bench_restored"
  await withDriver(service, async (driver) => {
    for (const options of restore) {
      const started = performance.now()
      const [, processor] = await timed(service, async () => {
        await driver.query("create database bench_restored template template0")
        await run(programs, "pg_restore", ["--no-owner", ...options, "-d", url.href, file])
      })
      note(turns, titleOf("pg_restore", options), { seconds: since(started), processor, file: size })
      await driver.query("drop database bench_restored with (force)")
    }
  })
  await rm(file)
}

const rowsOf = (turns: Turns, bytes: number, programs: Programs | undefined) => {
  const hand = programs && variants(programs)
  const bases: Record<string, ReadonlyArray<string> | undefined> = {
    [serviceTitles.dump]: hand?.dump.map((options) => titleOf("pg_dump -Fc", options)),
    [serviceTitles.restore]: hand?.restore.map((options) => titleOf("pg_restore", options))
  }
  return [...turns].map(([title, mine]) => {
    const seconds = mine.map((turn) => turn.seconds)
    const to = (variant: number, key: "seconds" | "processor") => {
      const base = turns.get(bases[title]?.[variant] ?? "")
      return base ? median(base.map((turn, round) => turn[key] / (mine[round]?.[key] ?? Number.NaN))).toFixed(2) : ""
    }
    return [
      title,
      seconds.map((each) => each.toFixed(1)).join(" "),
      whole(bytes / 1e6 / median(seconds)),
      to(0, "seconds"),
      to(1, "seconds"),
      median(mine.map(({ processor }) => processor)).toFixed(1),
      to(1, "processor"),
      whole(median(mine.map(({ file }) => file)) / 1e6)
    ]
  })
}

export const measureBackups = (part: string) => async (bench: Omit<DatabaseBench, "client">) => {
  const { quick, service, size } = bench
  console.error(`${part} filling ${size} MiB …`)
  const bytes = await fill(service, size)
  const { major } = await firstRow(service, "select current_setting('server_version_num')::int / 10000 as major")
  const programs = await findPrograms(Number(major))
  const turns: Turns = new Map()
  let tool = ""
  const idle = await resident(service.pid)
  const memory: Array<number> = []
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    console.error(`${part} round ${round} …`)
    const use = async () => void (tool = await serviceTurn(service, turns, round === 0))
    memory.push(...(await watched(service.pid, use)))
    if (programs !== undefined) await handTurn(service, turns, programs)
  }
  console.log(
    `\n${part}: backups by ${tool} of ${whole(bytes / 1024 / 1024)} MiB; restores into a branch or a new database`
  )
  console.log(
    `by hand: ${programs?.version ?? "no programs found"}; MB/s of the database's size; ratios within a round\n`
  )
  const head = ["", "seconds", "MB/s", "to defaults", "to faster", "processor s", "to faster", "file MB"]
  printTable(head, rowsOf(turns, bytes, programs), 1)
  console.log(
    `\nresident MiB of the service: before ${whole(idle)}, median ${whole(median(memory))}, max ${whole(Math.max(...memory))}`
  )
  return true
}
