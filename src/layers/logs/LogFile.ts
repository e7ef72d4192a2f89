import { Cause, Context, Effect, Layer, Logger } from "effect"
import { chownSync, closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { type LogLine, longestDetails, logLevels, shownText } from "../../domain/logs/Line.ts"
import { DataDir } from "../process/DataDir.ts"
import { type FileOwner } from "../process/FileLock.ts"
import { workerNumber } from "../process/WorkerSettings.ts"

/** Bytes of a file, after which another begins, and of all files of the directory, those of other processes included. */
const [maxFile, maxAll] = [4 * 1024 * 1024, 60 * 1024 * 1024]
/** Characters of lines that wait to be written, and ms that they may. */
const [maxWaiting, waitMillis] = [1024 * 1024, 100]

/** The directory of the files in SVC_DATA_DIR. */
export const logDirectory = (dataDir: string) => join(dataDir, "logs")

/** In the names of files, which have no other character. */
export const thisHost =
  hostname()
    .replaceAll(/[^\w-]/g, "-")
    .slice(0, 60) || "localhost"
const worker = Number(workerNumber ?? 0)

/** A file of a process: `<host>.<worker>.<when it began>.jsonl`. */
export const fileName = /^([\w-]+)\.(\d+)\.(\d+)\.jsonl$/

const textOf = (message: unknown): string =>
  typeof message === "string" ? message : (JSON.stringify(message) ?? String(message))

/** What a logger gets, as a line that is kept. Errors are details, with their stacks. */
const keptLine = (options: Logger.Options<unknown>): LogLine => {
  const { annotations, cause, level, timestamp } = Logger.formatStructured.log(options)
  const parts: ReadonlyArray<unknown> = Array.isArray(options.message) ? options.message : [options.message]
  const { request_id } = annotations
  const more = Object.entries(annotations).filter(([name]) => name !== "request_id" && name !== "worker")
  const details = [
    ...parts.flatMap((part) => (part instanceof Error ? [part.stack ?? String(part)] : [])),
    ...(cause === undefined ? [] : [cause]),
    ...(more.length === 0 ? [] : [JSON.stringify(Object.fromEntries(more))])
  ].join("\n")
  return {
    at: timestamp,
    level: logLevels.find((one) => one === level) ?? "INFO",
    text: shownText(
      parts
        .filter((part) => !(part instanceof Error))
        .map(textOf)
        .join(" ")
    ),
    details: details === "" ? null : shownText(details, longestDetails),
    request_id: typeof request_id === "string" ? request_id.slice(0, 200) : null,
    host: thisHost,
    worker
  }
}

/**
 * The lines of this process, in files that replace each other. Writing is synchronous and in batches, so that the lines of a
 * process that ends in any way but by SIGKILL are kept. A directory that can't be written keeps none.
 */
export class LogFile {
  private lines: Array<string> = []
  private waiting = 0
  private dropped = 0
  private timer: NodeJS.Timeout | undefined
  private directory: { readonly path: string; readonly owner: FileOwner | undefined } | undefined
  private file: { readonly descriptor: number; size: number } | undefined

  add(line: LogLine): void {
    const text = `${JSON.stringify(line)}\n`
    if (this.waiting + text.length > maxWaiting) {
      this.dropped++
      return
    }
    this.lines.push(text)
    this.waiting += text.length
    // Before the directory is known, lines wait for it.
    if (this.directory !== undefined) this.timer ??= setTimeout(() => this.flush(), waitMillis).unref()
  }

  /** Fails if the directory can't be written. */
  open(path: string, owner: FileOwner | undefined): void {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
    this.directory = { path, owner }
    this.begin()
    this.flush()
  }

  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.directory === undefined || this.file === undefined) return
    const { dropped, lines } = this
    this.lines = []
    this.waiting = 0
    this.dropped = 0
    if (dropped > 0) lines.push(`${JSON.stringify(noticeOf(dropped))}\n`)
    if (lines.length === 0) return
    try {
      if (this.file.size > maxFile) this.begin()
      this.file.size += writeSync(this.file.descriptor, lines.join(""))
    } catch {
      // The disk is full: the lines are on standard output.
    }
  }

  close(): void {
    this.flush()
    if (this.file !== undefined) closeSync(this.file.descriptor)
    this.file = undefined
    this.directory = undefined
  }

  private begin(): void {
    if (this.directory === undefined) return
    const { owner, path } = this.directory
    const name = join(path, `${thisHost}.${worker}.${Date.now()}.jsonl`)
    const descriptor = openSync(name, "a", 0o600)
    if (owner !== undefined) chownSync(name, owner.uid, owner.gid)
    if (this.file !== undefined) closeSync(this.file.descriptor)
    this.file = { descriptor, size: 0 }
    prune(path)
  }
}

const noticeOf = (dropped: number): LogLine => ({
  at: new Date().toISOString(),
  level: "WARN",
  text: `${dropped} lines are not kept here, because there were too many at once; they are on standard output`,
  details: null,
  request_id: null,
  host: thisHost,
  worker
})

/** Deletes the oldest files, of whatever process, beyond the size of the directory. */
const prune = (path: string) => {
  const files = readdirSync(path)
    .filter((name) => fileName.test(name))
    .map((name) => ({ name, status: statSync(join(path, name), { throwIfNoEntry: false }) }))
    .toSorted((a, b) => (b.status?.mtimeMs ?? 0) - (a.status?.mtimeMs ?? 0))
  let all = 0
  for (const { name, status } of files) {
    all += status?.size ?? 0
    if (all > maxAll) rmSync(join(path, name), { force: true })
  }
}

/** The file of this service. Logs.ts adds its lines. */
export const CurrentLogFile = Context.Reference<LogFile>("svc/layers/CurrentLogFile", {
  defaultValue: () => new LogFile()
})

/** A file of its own for each service of a process. */
export const layerLogFile = Layer.sync(CurrentLogFile, () => new LogFile())

/** The logger of the file. */
export const fileLogger = (file: LogFile) => Logger.make((options) => file.add(keptLine(options)))

/** Keeps lines in SVC_DATA_DIR from now on, also those before. */
export const layerKeptLogs = Layer.effectDiscard(
  Effect.gen(function* () {
    const { owner, path } = yield* DataDir
    const file = yield* CurrentLogFile
    const atExit = () => file.flush()
    yield* Effect.acquireRelease(
      Effect.try(() => {
        file.open(logDirectory(path), owner)
        process.on("exit", atExit)
      }),
      () =>
        Effect.sync(() => {
          process.off("exit", atExit)
          file.close()
        })
    ).pipe(
      Effect.catch(({ cause }) =>
        Effect.logWarning(
          `Failed to write log files to ${logDirectory(path)}; lines are on standard output only`,
          cause
        )
      )
    )
  })
).pipe(
  Layer.provide(DataDir.layer),
  // What needs the directory says so itself.
  Layer.catchCause((cause) =>
    Layer.effectDiscard(
      Effect.logWarning("Failed to keep log files; lines are on standard output only", Cause.squash(cause))
    )
  )
)
