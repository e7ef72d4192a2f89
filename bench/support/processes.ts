/** The processes of a run: the service, its baselines and the load generators. All are terminated with this one. */
import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { type Answer } from "../rows/baseline.ts"
import { type DriverOptions } from "../rows/drivers.ts"
import { type LoadOptions, type LoadResult } from "../rows/load.ts"

const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

const tracked = <Child extends ChildProcess>(child: Child) => {
  running.add(child)
  child.on("exit", () => running.delete(child))
  return child
}

// Ctrl-C at the terminal reaches only this process, which then ends the others in order.
const detached = process.platform !== "win32"

/** Runs a TypeScript file with this Node. Prints its stderr; the caller reads its stdout. */
export const start = (
  file: string,
  options: ReadonlyArray<string>,
  nodeOptions: ReadonlyArray<string> = [],
  env = process.env
) => {
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"]
  return tracked(spawn(process.execPath, [...nodeOptions, file, ...options], { env, stdio, detached }))
}

/** Ends a process gracefully, within 20 seconds. */
export const stop = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  const patience = setTimeout(() => child.kill("SIGKILL"), 20_000)
  await ended
  clearTimeout(patience)
}

const file = (name: string) => join(import.meta.dirname, "..", name)

/** Starts a program of bench/ that answers calls (remote.ts). Its output is printed. */
export const startRemote = (name: string) =>
  tracked(fork(file(name), { stdio: ["ignore", "inherit", "inherit", "ipc"], detached }))

/** Runs a program that prints one line of JSON. */
const measured = async (name: string, options: object): Promise<LoadResult> => {
  const child = start(file(name), [JSON.stringify(options)])
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (part: string) => (output += part))
  const [code] = await once(child, "close")
  if (code !== 0) throw new Error(`${name} ended with ${code}`)
  return JSON.parse(output)
}

export const load = (options: LoadOptions) => measured("rows/load.ts", options)

export const driver = (options: DriverOptions) => measured("rows/drivers.ts", options)

/** Starts a server that always returns this response; returns its address, and a function that stops it. */
export const baseline = async (answer: Answer) => {
  const child = start(file("rows/baseline.ts"), [JSON.stringify(answer)])
  const [port] = await once(child.stdout, "data")
  return { url: `http://127.0.0.1:${String(port).trim()}`, stop: () => stop(child) }
}
