import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { inject } from "vitest"
import { copyDataDir, makeDataDir, removeDataDir } from "./dataDir.ts"

export const root = resolve(import.meta.dirname, "../..")

/** What a test needs to talk to a running service; can be handed between processes. */
export interface Address {
  readonly url: string
  readonly anon: string
  readonly service_role: string
  readonly jwtSecret: string
  /** Its process and its SVC_DATA_DIR. */
  readonly pid: number
  readonly dataDir: string
}

export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Everything it wrote to both streams. */
  readonly output: string
}

export interface Service extends Address {
  readonly output: () => string
  /** Sends the signal (SIGTERM unless told) and waits for the end. The data directory stays. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<End>
  /** Ends it if it still runs, and removes the data directory that was made for it. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export interface ServiceOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Of a service before it; without one, the run's prepared directory is copied. */
  readonly dataDir?: string
  readonly jwtSecret?: string
  /** Done between the launch and the wait for readiness. */
  readonly meanwhile?: (output: () => string) => Promise<unknown>
}

/** A program of ours in a process of its own, with no setting of whoever runs the tests. */
const launch = (program: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, program, {
    cwd: root,
    // Half of a start is reading and compiling modules, and it is made a hundred times.
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: join(tmpdir(), "svc-compile-cache"), ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text))
  }
  const farewell = () => child.kill("SIGTERM")
  process.once("exit", farewell)
  const ended = new Promise<End>((done) => {
    child.once("close", (code, signal) => {
      process.off("exit", farewell)
      done({ code, signal, output })
    })
  })
  return { child, ended, output: () => output }
}

/** Whatever listens takes a port that is free. */
export const freePorts = {
  PORT: "0",
  S3_EMBEDDED_PORT: "0",
  FLAGS_PORT: "0",
  FLAGS_HTTP_PORT: "0",
  FLAGS_SYNC_PORT: "0"
}

/** `node src/main.ts`, to its end; for starts that are expected to fail. In an empty directory unless told. */
export const runToEnd = async (env: Readonly<Record<string, string>>, program = ["src/main.ts"]): Promise<End> => {
  const dataDir = await makeDataDir()
  const { child, ended } = launch(program, { ...freePorts, SVC_DATA_DIR: dataDir, ...env })
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000)
  return ended.finally(() => {
    clearTimeout(timer)
    return removeDataDir(dataDir)
  })
}

/** Starts the real thing, `node src/main.ts`, and waits until /readyz says so. */
export const startService = async (options: ServiceOptions = {}): Promise<Service> => {
  const embedded = options.env?.["DATABASE_URL"] === undefined
  const dataDir = options.dataDir ?? (await (embedded ? copyDataDir(inject("preparedDataDir")) : makeDataDir()))
  const jwtSecret = options.jwtSecret ?? randomBytes(32).toString("base64url")
  const env = { ...freePorts, SVC_DATA_DIR: dataDir, SVC_JWT_SECRET: jwtSecret, ...options.env }
  const { child, ended, output } = launch(["src/main.ts"], env)
  const stop = (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal)
    return ended
  }
  const remove = async () => {
    if (child.exitCode === null && child.signalCode === null) await stop()
    if (options.dataDir === undefined) await removeDataDir(dataDir)
  }
  try {
    await options.meanwhile?.(output)
    const url = await readyAt(child, output)
    const keys = await keysOf(dataDir, output())
    return { url, ...keys, jwtSecret, pid: child.pid ?? 0, dataDir, output, stop, [Symbol.asyncDispose]: remove }
  } catch (cause) {
    await remove()
    throw cause
  }
}

/** The address in the log line of the listener. */
export const listeningAt = (output: string) => /Listening on (http:\/\/[\w.:]+)/.exec(output)?.[1]

const readyAt = async (child: ChildProcess, output: () => string) => {
  for (const deadline = Date.now() + 40_000; Date.now() < deadline; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`The service ended:\n${output()}`)
    const url = listeningAt(output())
    if (url === undefined) continue
    const { status } = await fetch(`${url}/readyz`)
    if (status === 200) return url
  }
  throw new Error(`The service was not ready in time:\n${output()}`)
}

/** From keys.json of an embedded PostgreSQL, else from what the first start printed, else none. */
const keysOf = async (dataDir: string, output: string): Promise<Pick<Address, "anon" | "service_role">> => {
  const kept = await readFile(join(dataDir, "keys.json"), "utf8").catch(() => undefined)
  if (kept !== undefined) return JSON.parse(kept) as Pick<Address, "anon" | "service_role">
  return keysIn(output)
}

/** The keys that the first start printed; empty if it printed none. */
export const keysIn = (output: string): Pick<Address, "anon" | "service_role"> => {
  const printed = (type: string) => new RegExp(`${type} +(svc_[ps]k_[\\w-]+)`).exec(output)?.[1] ?? ""
  return { anon: printed("anon"), service_role: printed("service_role") }
}

/** The process id of a data directory's PostgreSQL. */
export const postmasterOf = async ({ dataDir }: Pick<Address, "dataDir">): Promise<number> =>
  Number((await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n")[0])

/** Asks again until the answer is a good one, at most so many ms; gives the last one anyway. */
export const until = async <A>(ask: () => Promise<A>, good: (answer: A) => boolean, millis = 10_000): Promise<A> => {
  for (const deadline = Date.now() + millis; ; await sleep(25)) {
    const answer = await ask()
    if (good(answer) || Date.now() > deadline) return answer
  }
}
