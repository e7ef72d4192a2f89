import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readdir, readFile, readlink } from "node:fs/promises"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { isAlive } from "../../process/DataDir.ts"
import { type PostgresBinaries } from "./Binaries.ts"
import { StartError, startError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** A server's state, as it reports it in its cluster directory. */
export interface PidFile {
  readonly pid: number
  readonly port: number
  /** Whether it accepts connections. */
  readonly ready: boolean
}

/** postmaster.pid of a cluster, if there is one; the process may have ended. */
export const readPidFile = (cluster: string): Effect.Effect<PidFile | undefined> =>
  Effect.promise(async () => {
    const content = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "")
    const lines = content.split("\n")
    const pid = Number(lines[0])
    if (!Number.isSafeInteger(pid) || pid < 1) return undefined
    return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" }
  })

/** The port of the last server of a cluster, which keeps its command line; 0: there was none. */
export const lastPort = (cluster: string): Effect.Effect<number> =>
  Effect.promise(async () => {
    const content = await readFile(join(cluster, "postmaster.opts"), "utf8").catch(() => "")
    const port = Number(/"-p" "(\d{1,5})"/.exec(content)?.[1] ?? 0)
    return port <= 65_535 ? port : 0
  })

/** A process: this cluster's server, another PostgreSQL, or any other program. */
export type ProcessKind = "cluster" | "postgres" | "other"

/**
 * What runs under a pid. After a crash, the pid in postmaster.pid may have been reused by any program.
 *
 * @param cluster absolute, without symbolic links
 */
export const processKind = (pid: number, cluster: string): Effect.Effect<ProcessKind> =>
  Effect.promise(async () => {
    if (!isAlive(pid)) return "other"
    if (process.platform === "win32") return "cluster"
    const command = await commandLine(pid)
    // `postgres` runs in its cluster's directory; of another user's process only the arguments are visible.
    const inside = (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === cluster
    if (!/(^|\/)postgres(\s|$|:)/.test(command)) return "other"
    return inside || command.includes(cluster) ? "cluster" : "postgres"
  })

const commandLine = async (pid: number) => {
  if (process.platform === "linux") {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ")
  }
  return (await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]).catch(() => ({ stdout: "" }))).stdout
}

/** Processes of this cluster whose server was killed; they outlive it for a moment. Linux only. */
const backends = (cluster: string): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    if (process.platform !== "linux") return []
    const found: Array<number> = []
    for (const name of await readdir("/proc").catch(() => [])) {
      if (!/^\d+$/.test(name) || (await readlink(`/proc/${name}/cwd`).catch(() => "")) !== cluster) continue
      const program = basename(await readlink(`/proc/${name}/exe`).catch(() => ""))
      if (program.startsWith("postgres")) found.push(Number(name))
    }
    return found
  })

/** Sends a signal; succeeds if the process has ended. */
const signal = (pid: number, name: "SIGINT" | "SIGQUIT" | "SIGKILL", binaries: PostgresBinaries) =>
  Effect.tryPromise({
    try: async () => {
      // Node can only kill on Windows, where PostgreSQL has its own signals.
      if (process.platform === "win32") await run(binaries.pgCtl, ["kill", name.slice(3), String(pid)])
      else process.kill(pid, name)
    },
    catch: (cause) => startError(`Failed to stop PostgreSQL (process ${pid})`, cause)
  }).pipe(Effect.catch((error) => (isAlive(pid) ? error : Effect.void)))

/** Waits until all processes have ended, for at most `timeout` ms; gives whether they have. */
const ended = Effect.fnUntraced(function* (pids: ReadonlyArray<number>, timeout: number) {
  for (let waited = 0; pids.some(isAlive); waited += 20) {
    if (waited >= timeout) return false
    yield* Effect.sleep("20 millis")
  }
  return true
})

/** Stops a server: it rolls back open transactions and writes a checkpoint; one that takes too long is killed. */
export const stopServer = Effect.fnUntraced(function* (pid: number, binaries: PostgresBinaries) {
  for (const [name, timeout] of [
    ["SIGINT", 10_000], // fast
    ["SIGQUIT", 5_000], // immediate: recovers at the next start
    ["SIGKILL", 5_000]
  ] as const) {
    yield* signal(pid, name, binaries)
    if (yield* ended([pid], timeout)) return
    yield* Effect.logWarning(`PostgreSQL (process ${pid}) did not end within ${timeout / 1000} s after ${name}`)
  }
  return yield* new StartError({ message: `Failed to stop PostgreSQL (process ${pid})` })
})

/** Ends the processes that a killed server left behind, so that a new one can use the cluster. */
export const endBackends = Effect.fnUntraced(function* (cluster: string, binaries: PostgresBinaries) {
  if (yield* ended(yield* backends(cluster), 500)) return
  for (const name of ["SIGQUIT", "SIGKILL"] as const) {
    const left = yield* backends(cluster)
    yield* Effect.forEach(left, (pid) => signal(pid, name, binaries))
    if (yield* ended(left, 2_000)) return
  }
})
