import { Deferred, Effect, Exit, Option } from "effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { open, readFile, rename, stat, truncate } from "node:fs/promises"
import { createServer } from "node:net"
import { type PostgresBinaries } from "./Binaries.ts"
import { readPidFile, stopServer } from "./Process.ts"
import { asUser, type PostgresUser } from "./User.ts"
import { attempt, StartError, startError } from "../../process/StartError.ts"

/** Parameters of a server. */
export interface PostgresServer {
  readonly binaries: PostgresBinaries
  readonly user: PostgresUser
  /** The directory, without symbolic links. */
  readonly cluster: string
  /** Log file. */
  readonly log: string
  readonly port: number
  /** Connections that the service may need; undefined: as the cluster is configured. */
  readonly connections: number | undefined
  /** Further settings, which precede those of the cluster's files. */
  readonly settings: Readonly<Record<string, string>>
}

/** A server process started here. */
export interface Started {
  readonly pid: number
  /** Completes with the exit code or signal when the process has ended. */
  readonly ended: Deferred.Deferred<string>
}

/** ms. Recovery after a crash replays the WAL, which takes long in a large database. */
const readyTimeout = 600_000

/**
 * Directory of the server's Unix socket, which costs a fifth less than TCP: the cluster's, which other users cannot enter.
 * Undefined on Windows, and if the path is too long for a socket address or has characters special to the setting.
 */
export const socketDirectory = (cluster: string): string | undefined =>
  process.platform !== "win32" && /^\/[\w./@-]+$/.test(cluster) && cluster.length <= 85 ? cluster : undefined

const options = ({ cluster, connections, port, settings }: PostgresServer) => [
  ["-D", cluster, "-p", String(port)],
  [
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `unix_socket_directories=${socketDirectory(cluster) ?? ""}`,
    "-c",
    "cluster_name=svc"
  ],
  ["-c", "logging_collector=off", "-c", "log_destination=stderr"],
  connections === undefined ? [] : ["-c", `max_connections=${connections}`],
  Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
]

/**
 * Starts the process; `whenReady` waits for it. It has its own process group, so that Ctrl-C at the terminal reaches only
 * this process, which closes connections before it stops the server.
 */
export const launch = Effect.fnUntraced(function* (server: PostgresServer) {
  const ended = yield* Deferred.make<string>()
  const child = yield* attempt("Failed to start PostgreSQL", async () => {
    const log = await open(server.log, "a", 0o600)
    try {
      return await spawned(server, log.fd)
    } finally {
      await log.close()
    }
  })
  const report = (how: string) => Deferred.doneUnsafe(ended, Exit.succeed(how))
  if (child.exitCode !== null || child.signalCode !== null) report(`code ${child.exitCode ?? child.signalCode}`)
  child.once("exit", (code, signal) => report(signal === null ? `exit code ${code}` : signal))
  child.unref() // only waiting for its end keeps this process alive
  yield* scheduleAsBatch(child.pid ?? 0)
  const started: Started = { pid: child.pid ?? 0, ended }
  return started
})

const spawned = (server: PostgresServer, log: number) =>
  new Promise<ChildProcess>((resolve, reject) => {
    const child = spawn(server.binaries.postgres, options(server).flat(), {
      ...asUser(server.user),
      detached: true,
      stdio: ["ignore", log, log]
    })
    child.once("error", reject)
    child.once("spawn", () => resolve(child))
  })

/**
 * Has Linux schedule the server, and the backends it forks from then on, as SCHED_BATCH (sched(7)): their share of the
 * processor is the same, but a request that arrives in a backend does not interrupt the service while it writes the next.
 * This gives 10 % more reads on two cores. The server works without it, so a machine without `chrt` is no error.
 */
const scheduleAsBatch = (pid: number) =>
  process.platform === "linux"
    ? Effect.callback<void>((resume) => {
        execFile("chrt", ["--batch", "--pid", "0", String(pid)], () => resume(Effect.void))
      })
    : Effect.void

/** Waits until the server accepts connections; fails with messages of its log if it ends. */
export const whenReady = Effect.fnUntraced(function* (server: PostgresServer, { ended, pid }: Started, from: number) {
  for (let waited = 0; waited < readyTimeout; waited += 10) {
    const end = yield* Effect.timeoutOption(Deferred.await(ended), "10 millis")
    if (Option.isSome(end)) return yield* new StartError({ message: yield* reasonIn(server.log, from, end.value) })
    const state = yield* readPidFile(server.cluster)
    if (state?.pid === pid && state.ready) return
    if (waited % 10_000 === 9_990) yield* Effect.logInfo("PostgreSQL is still recovering from an unclean shutdown")
  }
  return yield* new StartError({
    message: `PostgreSQL was not ready after ${readyTimeout / 60_000} minutes; see ${server.log}`
  })
})

/** Current size of the log, to distinguish later messages from earlier ones. */
export const logSize = (log: string) =>
  Effect.promise(() =>
    stat(log).then(
      ({ size }) => size,
      () => 0
    )
  )

/** One line with the log's messages about why PostgreSQL ended. */
const reasonIn = (log: string, from: number, end: string) =>
  Effect.promise(async () => {
    const content = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(from).toString()
    const lines = content.split("\n").filter((line) => line.trim() !== "")
    return `PostgreSQL did not start (${end}): ${[...failureMessages(lines), `see ${log}`].join("; ")}`
  })

/** Of the operating system, as PostgreSQL logs it. */
export const portTaken = "Address already in use"

/** The messages of a log that say why a server ended: the last fatal one with its details, or the last errors. */
export const failureMessages = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  // Then PostgreSQL also says that data is corrupted, which it is not.
  if (lines.some((line) => line.includes("No space left on device")))
    return ["the disk of SVC_DATA_DIR is full, free some space"]
  const fatal = lines.findLastIndex((line) => /FATAL|PANIC/.test(line))
  const details = fatal < 0 ? [] : lines.slice(fatal + 1)
  const other = details.findIndex((line) => !/DETAIL|HINT/.test(line))
  const grave =
    fatal >= 0
      ? lines.slice(fatal, fatal + 1 + (other < 0 ? details.length : other))
      : lines.filter((line) => /HINT|could not|error while loading/.test(line))
  // The fatal error is then only that there is no socket.
  const taken = lines.filter((line) => line.includes(portTaken))
  const chosen = [...taken, ...(grave.length > 0 ? grave : lines)].slice(-4)
  return Array.from(new Set(chosen.map((line) => line.replace(/^\S+ \S+ \S+ \[\d+\] /, "").trim())))
}

/** Stops a server that was started here and waits for its end. */
export const stop = ({ ended, pid }: Started, binaries: PostgresBinaries) =>
  Effect.gen(function* () {
    if (yield* Deferred.isDone(ended)) return
    yield* stopServer(pid, binaries)
    yield* Effect.timeoutOption(Deferred.await(ended), "1 second")
  })

/** Finds a free port: the preferred one if it is free; 0: any. */
export const freePort = (preferred: number): Effect.Effect<number, StartError> =>
  Effect.callback((resume) => {
    const probe = createServer()
    probe.once("error", (cause) =>
      resume(preferred === 0 ? startError("Failed to find a free port for PostgreSQL", cause) : freePort(0))
    )
    probe.listen(preferred, "127.0.0.1", () => {
      const address = probe.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      probe.close(() => resume(Effect.succeed(port)))
    })
  })

/** Renames the last run's log to `.1`. */
export const rotateLog = (log: string) => Effect.promise(() => rename(log, `${log}.1`).catch(() => undefined))

/** Truncates the log if it exceeds 16 MiB; the server appends, so it continues at the start. */
export const boundLog = (log: string) =>
  Effect.promise(async () => {
    const status = await stat(log).catch(() => undefined)
    if (status !== undefined && status.size > 16 * 1024 * 1024) await truncate(log, 0)
  })
