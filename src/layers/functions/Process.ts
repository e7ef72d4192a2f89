import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { setPriority } from "node:os"
import { BadGateway, GatewayTimeout } from "../../domain/errors.ts"
import { type FunctionProcess, type PrintedLine } from "../../services/ports/functions/FunctionEngine.ts"
import { passOn } from "../net/PassOn.ts"
import { endingWithThis, prlimit } from "./Program.ts"
import { readPrinted } from "./Printed.ts"

/** Processes of functions run as users of these ids, one each, if the service is root. */
const firstUser = 61_000

/** The user of a process, if the service may choose one. */
export const userOf = (slot: number) =>
  process.geteuid?.() === 0 ? { uid: firstUser + slot, gid: firstUser + slot } : undefined

/**
 * Limits of the operating system: 64 MiB a file, 256 threads of the user, 1,024 open files, no core dumps. V8 reserves far
 * more addresses than it uses, so memory is watched instead (services/functions/Watch.ts).
 */
const limits = ["--fsize=67108864", "--nofile=1024", "--core=0", ...(process.geteuid?.() === 0 ? ["--nproc=256"] : [])]

/** Starts a program within those limits, with nothing of this process's environment. It ends when this process is killed. */
export const spawnLimited = (
  program: string,
  args: ReadonlyArray<string>,
  slot: number,
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }
): ChildProcess => {
  const limited = prlimit === undefined ? [] : [prlimit, ...limits, "--"]
  const [command = program, ...all] = [...endingWithThis(), ...limited, program, ...args]
  return spawn(command, all, { ...options, ...userOf(slot), stdio: ["ignore", "pipe", "pipe"] })
}

const failed = (error: string) => new BadGateway({ error, code: "FUNCTION_FAILED" })

/** Starts a process and waits until it listens on its socket. */
export const startProcess = (
  child: ChildProcess,
  {
    limit,
    printed,
    socket,
    startMillis
  }: {
    readonly limit: number
    readonly printed: (line: PrintedLine) => void
    readonly socket: string
    readonly startMillis: number
  }
): Effect.Effect<FunctionProcess, BadGateway, Scope.Scope> =>
  Effect.gen(function* () {
    yieldFirst(child.pid)
    let reason: string | undefined
    const { promise: ended, resolve: setEnded } = Promise.withResolvers<string>()
    const { promise: listening, resolve: setListening } = Promise.withResolvers<true>()
    const end = (why: string) => {
      reason ??= why
      child.kill("SIGKILL")
    }
    child.once("error", ({ message }) => setEnded(message))
    child.once("exit", (code, signal) =>
      setEnded(reason ?? (signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`))
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => end("the service ends it")))
    if (child.stdout !== null) {
      readPrinted(child.stdout, "info", printed, (line) => {
        if (line === "\u0001ready") setListening(true)
      })
    }
    if (child.stderr !== null) {
      readPrinted(child.stderr, "error", printed)
    }
    const agent = new Agent({ keepAlive: true, maxFreeSockets: 256 })
    yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
    const timer = setTimeout(() => end("it did not start in time"), startMillis)
    const started = yield* Effect.promise(() => Promise.race([listening, ended]))
    clearTimeout(timer)
    if (started !== true) return yield* failed(`The function could not be started: ${started}`)

    const receiver = {
      base: new URL("http://function"),
      socket,
      agent,
      limit,
      unreachable: failed("The function ended before it had answered"),
      tooSlow: new GatewayTimeout({ error: "The function took too long", code: "FUNCTION_TIMEOUT" })
    }
    const ping = (millis: number) =>
      new Promise<boolean>((done) => {
        const sent = request({
          socketPath: socket,
          path: "/",
          headers: { "x-svc-ping": "1" },
          timeout: millis,
          agent: false
        })
        sent.once("response", (response) => {
          response.resume()
          done(true)
        })
        sent.once("timeout", () => {
          done(false)
          sent.destroy()
        })
        // A connection that ends is that of a process that ends, which is not blocked.
        sent.once("close", () => done(true))
        sent.once("error", () => done(true))
        sent.end()
      })
    return {
      pid: child.pid ?? 0,
      call: (given) => passOn(receiver, given),
      ping,
      memory: () => residentBytes(child.pid),
      end,
      ended
    }
  })

/** Has the system prefer this process to functions, for processor time and when memory runs out. */
const yieldFirst = (pid: number | undefined) => {
  if (pid === undefined) return
  try {
    setPriority(pid, 10)
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000")
  } catch {
    // Other systems than Linux have no such file.
  }
}

const pageBytes = 4096

/** Linux only. */
const residentBytes = (pid: number | undefined): number | undefined => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * pageBytes
  } catch {
    return undefined
  }
}
