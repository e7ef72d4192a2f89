import { Deferred, Effect, Exit, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { open, readFile, rename, stat, truncate } from "node:fs/promises"
import { createServer } from "node:net"
import { type PostgresBinaries } from "./Binaries.ts"
import { readPidFile, stopServer } from "./Process.ts"
import { asUser, type PostgresUser } from "./User.ts"
import { attempt, StartError, startError } from "../../process/StartError.ts"

/** What a server is started with. */
export interface PostgresServer {
  readonly binaries: PostgresBinaries
  readonly user: PostgresUser
  /** Without symbolic links. */
  readonly cluster: string
  /** File that gets its messages. */
  readonly log: string
  readonly port: number
}

/** A server process of ours. */
export interface Started {
  readonly pid: number
  /** Done when it has ended; says how. */
  readonly ended: Deferred.Deferred<string>
}

/** Recovery after a crash replays what was not written, which takes its time in a large database. */
const patience = 600_000

/**
 * Where the server has its Unix socket, which is a fifth cheaper than TCP: in the cluster, which nobody else may enter.
 * None on Windows, and where the path is longer than an address can be or has characters the setting would read.
 */
export const socketDirectory = (cluster: string): string | undefined =>
  process.platform !== "win32" && /^\/[\w./@-]+$/.test(cluster) && cluster.length <= 85 ? cluster : undefined

const options = ({ cluster, port }: PostgresServer) => [
  ["-D", cluster, "-p", String(port)],
  [
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `unix_socket_directories=${socketDirectory(cluster) ?? ""}`,
    "-c",
    "cluster_name=svc"
  ],
  ["-c", "logging_collector=off", "-c", "log_destination=stderr"]
]

/**
 * Starts the process; `whenReady` waits for it. In its own process group, so that Ctrl-C at the terminal reaches only
 * us and connections are closed before the server.
 */
export const launch = Effect.fnUntraced(function* (server: PostgresServer) {
  const ended = yield* Deferred.make<string>()
  const child = yield* attempt("PostgreSQL can't be started", async () => {
    const log = await open(server.log, "a", 0o600)
    try {
      return await spawned(server, log.fd)
    } finally {
      await log.close()
    }
  })
  const tell = (how: string) => Deferred.doneUnsafe(ended, Exit.succeed(how))
  if (child.exitCode !== null || child.signalCode !== null) tell(`code ${child.exitCode ?? child.signalCode}`)
  child.once("exit", (code, signal) => tell(signal === null ? `exit code ${code}` : signal))
  child.unref() // waiting for its end is what keeps us alive, not its existence
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

/** Waits until it takes connections; fails with what its log says when it ends instead. */
export const whenReady = Effect.fnUntraced(function* (server: PostgresServer, { ended, pid }: Started, from: number) {
  for (let waited = 0; waited < patience; waited += 10) {
    const end = yield* Effect.timeoutOption(Deferred.await(ended), "10 millis")
    if (Option.isSome(end)) return yield* new StartError({ message: yield* complaint(server.log, from, end.value) })
    const said = yield* readPidFile(server.cluster)
    if (said?.pid === pid && said.ready) return
    if (waited % 10_000 === 9_990) yield* Effect.logInfo("PostgreSQL is still recovering after an unclean end")
  }
  return yield* new StartError({
    message: `PostgreSQL was not ready after ${patience / 60_000} minutes, see ${server.log}`
  })
})

/** Size of the log now, to tell later messages from earlier ones. */
export const logSize = (log: string) =>
  Effect.promise(() =>
    stat(log).then(
      ({ size }) => size,
      () => 0
    )
  )

/** One line out of the log: what PostgreSQL gave up for. */
const complaint = (log: string, from: number, end: string) =>
  Effect.promise(async () => {
    const content = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(from).toString()
    const lines = content.split("\n").filter((line) => line.trim() !== "")
    const grave = lines.filter((line) => /FATAL|PANIC|HINT|could not|error while loading/.test(line))
    const said = (grave.length > 0 ? grave : lines)
      .slice(-4)
      .map((line) => line.replace(/^\S+ \S+ \S+ \[\d+\] /, "").trim())
    return `PostgreSQL did not start (${end}): ${[...new Set(said), `see ${log}`].join("; ")}`
  })

/** Stops a server of ours and waits for its end. */
export const stop = ({ ended, pid }: Started, binaries: PostgresBinaries) =>
  Effect.gen(function* () {
    if (yield* Deferred.isDone(ended)) return
    yield* stopServer(pid, binaries)
    yield* Effect.timeoutOption(Deferred.await(ended), "1 second")
  })

/** A port that is free now. */
export const freePort = Effect.callback<number, StartError>((resume) => {
  const probe = createServer()
  probe.once("error", (cause) => resume(startError("No free port for PostgreSQL", cause)))
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

/** The last run's log stays beside it as `.1`. */
export const rotateLog = (log: string) => Effect.promise(() => rename(log, `${log}.1`).catch(() => undefined))

/** Empties the log when it is over 16 MiB; the server appends, so it goes on at the beginning. */
export const boundLog = (log: string) =>
  Effect.promise(async () => {
    const status = await stat(log).catch(() => undefined)
    if (status !== undefined && status.size > 16 * 1024 * 1024) await truncate(log, 0)
  })
