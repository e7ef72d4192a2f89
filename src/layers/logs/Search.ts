import { Effect, Layer, Option, Schema, Semaphore } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { atUtc } from "../../domain/audit/Entry.ts"
import { LogLine, logLevels, type LogPage, type LogSearch, selectsLine } from "../../domain/logs/Line.ts"
import { postgresLines } from "../../domain/logs/PostgresLine.ts"
import { secret } from "../../domain/Settings.ts"
import { LogLines } from "../../services/ports/logs/LogLines.ts"
import { clusterLink } from "../postgres/embedded/Cluster.ts"
import { readPidFile } from "../postgres/embedded/Process.ts"
import { DataDir, isAlive } from "../process/DataDir.ts"
import { workerNumber } from "../process/WorkerSettings.ts"
import { CurrentLogFile, fileName, logDirectory, thisHost } from "./LogFile.ts"

const defaultLimit = 200
/** Lines that are decoded before other work gets its turn. */
const slice = 2000

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(LogLine))
const newest = (lines: ReadonlyArray<LogLine>) => lines.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))

/** The files of each process, the newest first. */
const filesIn = (directory: string) =>
  Effect.promise(async () => {
    const names = await readdir(directory).catch(() => [])
    const found = names.flatMap((name) => {
      const [, host, worker, begun] = fileName.exec(name) ?? []
      return begun === undefined
        ? []
        : [{ name: join(directory, name), process: `${host}.${worker}`, begun: Number(begun) }]
    })
    const sorted = found.toSorted((a, b) => b.begun - a.begun)
    return Array.from(Map.groupBy(sorted, ({ process }) => process).values())
  })

const content = (file: string) => Effect.promise(() => readFile(file).catch(() => Buffer.alloc(0)))

/** Whether JSON of one or more lines may have one that is asked for. Nearly all have none, and need not be decoded. */
const maySelect = ({ level, request_id, text }: LogSearch) => {
  const id = request_id === undefined ? undefined : `"request_id":${JSON.stringify(request_id)}`
  const words = text === undefined ? undefined : JSON.stringify(text).slice(1, -1)
  const levels = level === undefined ? undefined : logLevels.slice(logLevels.indexOf(level))
  return (json: string): boolean =>
    (id === undefined || json.includes(id)) &&
    (levels === undefined || levels.some((one) => json.includes(`"level":"${one}"`))) &&
    (words === undefined || json.toLowerCase().includes(words))
}

/** The lines of a file that are asked for, the newest first: one more than the limit at most. */
const matching = Effect.fnUntraced(function* (
  json: string,
  limit: number,
  may: (json: string) => boolean,
  selects: (line: LogLine) => boolean
) {
  const found: Array<LogLine> = []
  if (!may(json)) return found
  const texts = json.split("\n").toReversed()
  for (let at = 0; at < texts.length && found.length <= limit; at += slice) {
    for (const text of texts.slice(at, at + slice)) {
      const line = text === "" || !may(text) ? Option.none() : decode(text)
      if (Option.isSome(line) && selects(line.value)) found.push(line.value)
      if (found.length > limit) break
    }
    yield* Effect.yieldNow
  }
  return found
})

/** The lines of the files in SVC_DATA_DIR: of all processes of this service here, and of the embedded PostgreSQL. */
export const layerLogLines = Layer.effect(
  LogLines,
  Effect.gen(function* () {
    const dir = yield* DataDir
    const file = yield* CurrentLogFile
    const one = yield* Semaphore.make(1)
    const external = (yield* secret("DATABASE_URL")) !== undefined
    /** A worker's DATABASE_URL is that of its parent's server, which may be embedded. */
    const isEmbedded = Effect.gen(function* () {
      if (workerNumber === undefined || !external) return !external
      const state = yield* readPidFile(clusterLink(dir))
      return state !== undefined && isAlive(state.pid)
    })

    const service = Effect.fnUntraced(function* (query: LogSearch, limit: number, selects: (line: LogLine) => boolean) {
      file.flush()
      const found: Array<LogLine> = []
      for (const files of yield* filesIn(logDirectory(dir.path))) {
        const lines: Array<LogLine> = []
        for (const { name } of files) {
          const json = (yield* content(name)).toString("utf8")
          lines.push(...(yield* matching(json, limit, maySelect(query), selects)))
          // Files that are older have older lines only.
          if (lines.length > limit) break
        }
        found.push(...lines)
      }
      return newest(found)
    })

    const database = Effect.fnUntraced(function* (selects: (line: LogLine) => boolean) {
      const found: Array<LogLine> = []
      for (const name of ["postgres.log.1", "postgres.log"]) {
        const text = (yield* content(join(dir.path, name))).toString("utf8")
        found.push(...postgresLines(text, thisHost).filter(selects))
      }
      return newest(found.toReversed())
    })

    const search = Effect.fnUntraced(function* (query: LogSearch): Effect.fn.Return<LogPage> {
      const { from, limit = defaultLimit, source = "service", text, to } = query
      const time = (given: string | undefined, none: number) => (given === undefined ? none : Date.parse(atUtc(given)))
      const asked = { ...query, ...(text === undefined ? {} : { text: text.toLowerCase() }) }
      const selects = selectsLine(asked, time(from, -Infinity), time(to, Infinity))
      const embedded = yield* isEmbedded
      const lines =
        source === "service" ? yield* service(asked, limit, selects) : embedded ? yield* database(selects) : []
      return {
        host: thisHost,
        database: embedded ? "embedded" : "external",
        lines: lines.slice(0, limit),
        more: lines.length > limit
      }
    })
    return LogLines.of({ search: (query) => one.withPermit(search(query)) })
  })
).pipe(
  Layer.provide(DataDir.layer),
  // Without a directory, which is logged, nothing is kept.
  Layer.catchCause(() =>
    Layer.succeed(LogLines, {
      search: () => Effect.succeed<LogPage>({ host: thisHost, database: "external", lines: [], more: false })
    })
  )
)
