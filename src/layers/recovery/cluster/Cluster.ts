import { Effect, Redacted, type Scope } from "effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { chown, mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type FileOwner } from "../../process/FileLock.ts"
import { socketDirectory } from "../../postgres/embedded/Server.ts"
import { asUser } from "../../postgres/embedded/User.ts"
import { connectDirectly } from "../../postgres/client/DirectConnection.ts"
import { type Login } from "../../postgres/Login.ts"
import { type RecoveryWindow } from "../../../domain/recovery/Windows.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"
import { feedLog } from "./Feeder.ts"
import { readBaseFiles } from "./Files.ts"

const run = promisify(execFile)

/** The server that recovers. */
export interface Recovering {
  /** Path of `postgres`, of the archive's major version. */
  readonly program: string
  /** The user that it runs as; undefined: the current one. */
  readonly user: FileOwner | undefined
  /** An empty directory for the cluster (`data`), its socket and its log; the user must be able to reach it. */
  readonly directory: string
  /** Whether the cluster is kept: it is written safely, and has the settings of the source afterwards. */
  readonly kept: boolean
  /** Whether it runs only when nothing else would. */
  readonly idle?: boolean
}

/** A cluster that has been recovered, and serves. */
export interface RecoveredCluster {
  readonly login: Login
  /** Ends its server in good order. */
  readonly stop: Effect.Effect<void, ArchiveTrouble>
}

const port = 5432
const pollMillis = 50
/** PostgreSQL's message when the log ends before the target: nothing was committed between them. */
const endedEarly = /recovery ended before configured recovery target was reached/

/** A configuration that ignores that of the source: no listener, no archive, no jobs, no libraries. */
const configuration = (
  { directory, kept }: Recovering,
  socket: string,
  { base }: RecoveryWindow,
  command: string,
  target: number | undefined
) => {
  const settings: Readonly<Record<string, string>> = {
    ...base.settings,
    listen_addresses: "",
    port: String(port),
    unix_socket_directories: socket,
    unix_socket_permissions: "0700",
    data_directory: join(directory, "data"),
    hba_file: join(directory, "pg_hba.conf"),
    ident_file: join(directory, "pg_ident.conf"),
    hot_standby: "off",
    archive_mode: "off",
    autovacuum: "off",
    max_logical_replication_workers: "0",
    shared_preload_libraries: "",
    session_preload_libraries: "",
    shared_buffers: "64MB",
    ...(kept ? {} : { fsync: "off", full_page_writes: "off" }),
    timezone: "UTC",
    log_timezone: "UTC",
    logging_collector: "off",
    log_destination: "stderr",
    restore_command: `${command} %f %p`,
    recovery_target_timeline: "latest",
    ...(target === undefined
      ? {}
      : {
          recovery_target_time: new Date(target).toISOString().replace("T", " ").replace("Z", "+00"),
          recovery_target_action: "promote"
        })
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join("")
}

const stopMillis = 120_000

/** Sends a signal, and waits some ms for the end of the process; gives whether it has ended. */
const stopped = (child: ChildProcess | undefined, signal: "SIGINT" | "SIGQUIT" | "SIGKILL", millis: number) =>
  new Promise<boolean>((resolve) => {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resolve(true)
    const timer = setTimeout(() => resolve(false), millis)
    child.once("exit", () => {
      clearTimeout(timer)
      resolve(true)
    })
    child.kill(signal)
  })

const trouble = (reason: string) => new ArchiveTrouble({ reason })

const reasonIn = (log: string) =>
  log
    .split("\n")
    .filter((line) => /FATAL|PANIC|HINT|LOG: .*(?:invalid|unrecognized|error|cannot)/.test(line))
    .slice(-3)
    .map((line) => line.replace(/^.*?\[\d+\] /, "").trim())
    .join("; ") || "it ended without a message"

/** A directory for a socket, whose path must be short. */
const shortDirectory = (user: FileOwner | undefined) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const path = await mkdtemp(join(tmpdir(), "svc-"))
      if (user !== undefined) await chown(path, user.uid, user.gid)
      return path
    }),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )

/**
 * Recovers a cluster as of a time in ms since 1970, and serves it on a private socket until the scope closes, which removes
 * it. `report`: the fraction done, 0–1.
 */
export const recoverCluster = Effect.fnUntraced(function* (
  archive: Archive,
  window: RecoveryWindow,
  target: number,
  recovering: Recovering,
  report: (fraction: number) => void
): Effect.fn.Return<RecoveredCluster, ArchiveTrouble, Scope.Scope> {
  const { directory, idle = false, kept, program, user } = recovering
  const socket = socketDirectory(directory) ?? (yield* shortDirectory(user))
  const data = join(directory, "data")
  const auto = join(data, "postgresql.auto.conf")
  yield* Effect.promise(() => mkdir(data, { mode: 0o700 }))
  const bytes = Math.max(1, window.base.bytes)
  yield* readBaseFiles(archive, window.base, data, (read) => report((0.5 * read) / bytes))

  const [first, last] = [window.log[0]?.start ?? 0n, window.log.at(-1)?.end ?? 1n]
  const { command, serve } = yield* feedLog(archive, window, join(directory, "feed"), user, (position) =>
    report(0.5 + (0.5 * Number(position - first)) / Math.max(1, Number(last - first)))
  )
  yield* Effect.promise(async () => {
    await writeFile(join(data, "recovery.signal"), "")
    await rename(auto, join(directory, "auto.conf")).catch(() => undefined)
    await writeFile(auto, "")
    for (const name of ["standby.signal", "postmaster.pid"]) await rm(join(data, name), { force: true })
    await writeFile(join(directory, "pg_hba.conf"), "local all all trust\n")
    await writeFile(join(directory, "pg_ident.conf"), "")
    if (user !== undefined) await run("chown", ["-R", `${user.uid}:${user.gid}`, directory])
  })
  const login: Login = {
    at: { host: socket, port, ssl: false },
    user: archive.info.user,
    password: Redacted.make(""),
    database: archive.info.database
  }

  let server: ChildProcess | undefined
  const attempt = Effect.fnUntraced(function* (to: number | undefined) {
    const file = join(directory, "server.conf")
    const logFile = join(directory, "server.log")
    yield* Effect.promise(async () => {
      await writeFile(file, configuration(recovering, socket, window, command, to))
      await writeFile(logFile, "")
      if (user !== undefined) await run("chown", [`${user.uid}:${user.gid}`, file, logFile])
    })
    const child = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const log = await open(logFile, "a", 0o600)
        const words = [...(idle ? ["nice", "-n", "19"] : []), program, "-D", data, "-c", `config_file=${file}`]
        const started = spawn(words[0] ?? program, words.slice(1), {
          ...asUser(user),
          detached: true,
          stdio: ["ignore", log.fd, log.fd]
        })
        started.on("error", () => undefined)
        await log.close()
        return started
      }),
      (child) =>
        Effect.promise(async () => {
          // Nothing of it is kept.
          if (!(await stopped(child, "SIGQUIT", 5_000))) await stopped(child, "SIGKILL", 5_000)
        })
    )
    server = child
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
        const log = yield* Effect.promise(() => readFile(logFile, "utf8"))
        return endedEarly.test(log) ? "early" : yield* trouble(`The recovery failed: ${reasonIn(log)}`)
      }
      const up = yield* connectDirectly(login).pipe(
        Effect.flatMap((session) => session.query("select pg_is_in_recovery() as recovering")),
        Effect.map(([row]) => row?.["recovering"] === false),
        Effect.scoped,
        // It is not there yet, or still recovers (57P03).
        Effect.catchIf(
          ({ code }) => code === "" || code.startsWith("57"),
          () => Effect.succeed(false)
        ),
        Effect.mapError(({ message }) => trouble(`The recovered database can't be used: ${message}`))
      )
      if (up) return "ready"
      yield* Effect.sleep(pollMillis)
    }
  })

  const recovered = Effect.gen(function* () {
    const how = yield* attempt(target)
    // What the log has was committed before the target.
    if (how === "early" && (yield* attempt(undefined)) === "early") return yield* trouble("The recovery did not end")
  })
  yield* Effect.raceFirst(recovered, serve)
  report(1)
  const stop = Effect.gen(function* () {
    if (!(yield* Effect.promise(() => stopped(server, "SIGINT", stopMillis)))) {
      return yield* trouble("The recovered server did not stop")
    }
    if (kept) yield* Effect.promise(() => rename(join(directory, "auto.conf"), auto).catch(() => undefined))
    return undefined
  })
  return { login, stop }
})
