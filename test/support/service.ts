import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { inject } from "vitest"
import { copyDataDir, makeDataDir, removeDataDir } from "./dataDir.ts"

export const root = resolve(import.meta.dirname, "../..")

/** The address and credentials of a running service; can be passed between processes. */
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
  /** Everything written to stdout and stderr. */
  readonly output: string
}

export interface Service extends Address {
  readonly output: () => string
  /** Sends a signal (default SIGTERM) and waits for the process to exit. Keeps the data directory. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<End>
  /** Stops the process if it is still running, and removes its data directory unless `dataDir` was given. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export interface ServiceOptions {
  readonly env?: Readonly<Record<string, string>>
  /** The data directory of an earlier service; default: a copy of the run's prepared directory. */
  readonly dataDir?: string
  readonly jwtSecret?: string
  /** The arguments of Node; default: the built service. */
  readonly program?: ReadonlyArray<string>
  /** Runs between the launch and the wait for readiness. */
  readonly meanwhile?: (output: () => string) => Promise<unknown>
}

/** Starts a program of this project as a process that does not inherit the environment of the test run. */
const launch = (program: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, program, {
    cwd: root,
    // Reading and compiling modules takes half of a start, and a run has about a hundred starts.
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

/** Lets every listener choose a free port, and the service end without a delay. */
export const testSettings = {
  SVC_SHUTDOWN_DELAY: "0s",
  PORT: "0",
  S3_EMBEDDED_PORT: "0",
  FLAGS_PORT: "0",
  FLAGS_HTTP_PORT: "0",
  FLAGS_SYNC_PORT: "0",
  // The machine that runs tests may be in a private network of IPv6.
  SVC_FUNCTIONS_HOSTS: "*"
}

/** Lets a program print what it prints on a terminal. */
export const onTerminal = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" }

/** The built service, as `npm start` runs it. */
const entry = [
  "--max-semi-space-size=12",
  "--no-allocation-site-pretenuring",
  "--heap-growing-percent=100",
  "dist/main.mjs"
]

/** Runs the service until it exits; for starts that are expected to fail. Default: an empty data directory. */
export const runToEnd = async (
  env: Readonly<Record<string, string>>,
  program: ReadonlyArray<string> = entry
): Promise<End> => {
  const dataDir = await makeDataDir()
  const { child, ended } = launch(program, { ...testSettings, SVC_DATA_DIR: dataDir, ...env })
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000)
  return ended.finally(() => {
    clearTimeout(timer)
    return removeDataDir(dataDir)
  })
}

/** Starts the service, and waits until /readyz returns 200. */
export const startService = async (options: ServiceOptions = {}): Promise<Service> => {
  const embedded = options.env?.["DATABASE_URL"] === undefined
  const dataDir = options.dataDir ?? (await (embedded ? copyDataDir(inject("preparedDataDir")) : makeDataDir()))
  const jwtSecret = options.jwtSecret ?? randomBytes(32).toString("base64url")
  const env = { ...testSettings, SVC_DATA_DIR: dataDir, SVC_JWT_SECRET: jwtSecret, ...options.env }
  const { child, ended, output } = launch(options.program ?? entry, env)
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
    const keys = await keysOf(dataDir)
    return { url, ...keys, jwtSecret, pid: child.pid ?? 0, dataDir, output, stop, [Symbol.asyncDispose]: remove }
  } catch (cause) {
    await remove()
    throw cause
  }
}

/** The address in the log line of the listener. */
export const listeningAt = (output: string) => /Listening on (http:\/\/[\w.:]+)/.exec(output)?.[1]

/** The URL of the operations port. */
export const operationsUrl = ({ output }: { readonly output: () => string }) =>
  `http://127.0.0.1:${/Operations: port (\d+)/.exec(output())?.[1] ?? "none"}`

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

/** The API keys of the first start; empty if there was a key before. */
export const keysOf = async (dataDir: string): Promise<Pick<Address, "anon" | "service_role">> => {
  const kept = await readFile(join(dataDir, "keys.json"), "utf8").catch(() => undefined)
  return kept === undefined ? { anon: "", service_role: "" } : (JSON.parse(kept) as Address)
}

/** The process id of the PostgreSQL server in a data directory. */
export const postmasterOf = async ({ dataDir }: Pick<Address, "dataDir">): Promise<number> =>
  Number((await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n")[0])

/** Retries until `good`, for at most `millis` ms; returns the last result in either case. */
export const until = async <A>(ask: () => Promise<A>, good: (answer: A) => boolean, millis = 10_000): Promise<A> => {
  for (const deadline = Date.now() + millis; ; await sleep(25)) {
    const answer = await ask()
    if (good(answer) || Date.now() > deadline) return answer
  }
}
