import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readdir, readFile, readlink } from "node:fs/promises"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { isAlive } from "../../process/DataDir.ts"
import { type PostgresBinaries } from "./Binaries.ts"
import { StartError, startError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** What a server says about itself in its cluster directory. */
export interface PidFile {
  readonly pid: number
  readonly port: number
  /** Whether it takes connections. */
  readonly ready: boolean
}

/** postmaster.pid of a cluster, if there is one; the process may be gone. */
export const readPidFile = (cluster: string): Effect.Effect<PidFile | undefined> =>
  Effect.promise(async () => {
    const content = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "")
    const lines = content.split("\n")
    const pid = Number(lines[0])
    if (!Number.isSafeInteger(pid) || pid < 1) return undefined
    return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" }
  })

/** A process as seen from outside: this cluster's server, some other PostgreSQL, or something else. */
export type Seen = "ours" | "postgres" | "other"

/**
 * What runs under a pid. After a crash the pid in postmaster.pid may belong to any program by now.
 *
 * @param cluster absolute, without symbolic links
 */
export const look = (pid: number, cluster: string): Effect.Effect<Seen> =>
  Effect.promise(async () => {
    if (!isAlive(pid)) return "other"
    if (process.platform === "win32") return "ours"
    const command = await commandLine(pid)
    // `postgres` runs a cluster from inside its directory; for another user's process only the arguments are visible.
    const inside = (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === cluster
    if (!/(^|\/)postgres(\s|$|:)/.test(command)) return "other"
    return inside || command.includes(cluster) ? "ours" : "postgres"
  })

const commandLine = async (pid: number) => {
  if (process.platform === "linux") {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ")
  }
  return (await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]).catch(() => ({ stdout: "" }))).stdout
}

/** Processes of this cluster without their server: they outlive it by a moment when it is killed. Linux only. */
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

/** Sends a signal; a process that is gone is fine. */
const signal = (pid: number, name: "SIGINT" | "SIGQUIT" | "SIGKILL", binaries: PostgresBinaries) =>
  Effect.tryPromise({
    try: async () => {
      // Node can only kill on Windows, PostgreSQL has its own signals there.
      if (process.platform === "win32") await run(binaries.pgCtl, ["kill", name.slice(3), String(pid)])
      else process.kill(pid, name)
    },
    catch: (cause) => startError(`PostgreSQL (process ${pid}) can't be stopped`, cause)
  }).pipe(Effect.catch((error) => (isAlive(pid) ? error : Effect.void)))

/** Waits until none of the processes exists, at most so many ms; says whether that came true. */
const gone = Effect.fnUntraced(function* (pids: ReadonlyArray<number>, patience: number) {
  for (let waited = 0; pids.some(isAlive); waited += 20) {
    if (waited >= patience) return false
    yield* Effect.sleep("20 millis")
  }
  return true
})

/** Stops a server: open transactions are rolled back and all is written; a server that takes too long is cut off. */
export const stopServer = Effect.fnUntraced(function* (pid: number, binaries: PostgresBinaries) {
  for (const [name, patience] of [
    ["SIGINT", 10_000], // fast
    ["SIGQUIT", 5_000], // immediate: recovers at the next start
    ["SIGKILL", 5_000]
  ] as const) {
    yield* signal(pid, name, binaries)
    if (yield* gone([pid], patience)) return
    yield* Effect.logWarning(`PostgreSQL (process ${pid}) has not ended ${patience / 1000} s after ${name}`)
  }
  return yield* new StartError({ message: `PostgreSQL (process ${pid}) can't be stopped` })
})

/** Ends what a killed server left behind, so that a new one may have the cluster. */
export const endBackends = Effect.fnUntraced(function* (cluster: string, binaries: PostgresBinaries) {
  if (yield* gone(yield* backends(cluster), 500)) return
  for (const name of ["SIGQUIT", "SIGKILL"] as const) {
    const left = yield* backends(cluster)
    yield* Effect.forEach(left, (pid) => signal(pid, name, binaries))
    if (yield* gone(left, 2_000)) return
  }
})
