import { Effect, Exit, Redacted } from "effect"
import { open, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"
import { Worker } from "node:worker_threads"
import { DumpFailed, type OnProgress } from "../../../services/ports/DumpTools.ts"
import type { BridgeMessage, BridgeTask } from "./Bridge.ts"
import { at, type DumpWasmShared, makeDumpWasmShared, movement } from "./Shared.ts"
import { type DumpWasmServer } from "./Socket.ts"
import { type DumpWasmSource, lookAtSource, withoutPassword } from "./Source.ts"
import { type Login, socketAddress } from "../../postgres/Login.ts"

/** Of the pg_dump that is run, and of the newest server that it knows. */
export const wasmVersion = "18.3"
export const wasmMajor = 18

export interface DumpWasmOptions {
  /** Longest a dump may take, in ms. */
  readonly timeout: number
  /** Longest nothing at all may come from the server, in ms: a table that holds little but dead rows is silent too. */
  readonly stall?: number
  /** Longest wait for a table that somebody has locked, in ms. */
  readonly lockWait?: number
  /** Where the files of pg_dump are, else in the installed package. */
  readonly directory?: string
}

/** Of zstd: the next levels take longer, and were measured to make the file no smaller. */
const level = 1

const serverOf = (login: Login): DumpWasmServer => {
  const address = socketAddress(login)
  if (login.ssl === false) return { address, tls: false }
  // What is not data can't be told another thread; of that, a login has only this.
  const { checkServerIdentity, ...options } = login.ssl
  return { address, tls: { options, anyName: checkServerIdentity !== undefined } }
}

const connectionOf = (login: Login, { noticesLeaving }: DumpWasmSource) => ({
  // The bridge is what it connects to, whatever is said here.
  host: "/tmp",
  port: "5432",
  sslmode: "disable",
  gssencmode: "disable",
  user: login.user,
  password: Redacted.value(login.password),
  dbname: login.database,
  application_name: "svc backup",
  ...(noticesLeaving ? { options: "-c client_connection_check_interval=1s" } : {})
})

/** Runs it in threads of its own, which end with it. */
const run = (task: BridgeTask) =>
  Effect.callback<void, DumpFailed>((resume) => {
    const worker = new Worker(new URL("./Bridge.ts", import.meta.url), {
      workerData: task,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128 }
    })
    const end = (result: Effect.Effect<void, DumpFailed>) =>
      resume(
        Effect.andThen(
          Effect.promise(() => worker.terminate()),
          result
        )
      )
    const fail = (reason: string) => end(Effect.fail(new DumpFailed({ reason })))
    worker.on("message", (message: BridgeMessage) => {
      // Under `node --watch` the runtime sends messages of its own on the same way.
      if (message._tag === "Done") end(Effect.void)
      else if (message._tag === "Failed") fail(message.reason)
    })
    worker.on("error", (error) => fail(String(error)))
    worker.on("exit", () => fail("The thread of pg_dump has ended"))
    return Effect.promise(() => worker.terminate())
  })

const lookMillis = 250

/** Says how far it is; fails when nothing moves any more. */
const watch = Effect.fnUntraced(function* (shared: DumpWasmShared, stall: number, onProgress: OnProgress) {
  let [moved, still, told] = [0, 0, 0]
  for (;;) {
    yield* Effect.sleep(lookMillis)
    const now = movement(shared)
    still = now === moved ? still + lookMillis : 0
    moved = now
    if (still >= stall) {
      return yield* new DumpFailed({ reason: `Nothing came from the server for ${stall / 1000} s` })
    }
    const fraction = Atomics.load(shared.counters, at.progress) / 1e6
    if (fraction > told) yield* onProgress((told = fraction))
  }
})

/** Gives it its name, for good. */
const keep = (from: string, to: string) =>
  Effect.tryPromise({
    try: async () => {
      await rename(from, to)
      // Windows has no directories that can be synced.
      const directory = await open(dirname(to), "r").catch(() => undefined)
      await directory?.sync().catch(() => undefined)
      await directory?.close()
    },
    catch: (cause) => new DumpFailed({ reason: `The file can't be renamed: ${String(cause)}` })
  })

/**
 * Writes a database as a script of SQL, compressed by zstd (one frame), with a pg_dump that need not be installed.
 * `file` is there when it is whole and synced, `<file>.partial` before.
 */
export const dumpWasm =
  (login: Login, options: DumpWasmOptions) =>
  (database: string, file: string, onProgress: OnProgress): Effect.Effect<void, DumpFailed> => {
    const source: Login = { ...login, database }
    const partial = `${file}.partial`
    const { directory, lockWait = 60_000, stall = 600_000, timeout } = options
    const dump = Effect.gen(function* () {
      const known = yield* lookAtSource(source, wasmMajor)
      const shared = makeDumpWasmShared()
      const { encoding, tables } = known
      const encrypted = source.ssl !== false
      const pgDump = {
        shared,
        encrypted,
        connection: connectionOf(source, known),
        encoding,
        lockWait,
        tables,
        directory
      }
      const task: BridgeTask = { server: serverOf(source), file: partial, level, pgDump }
      yield* Effect.raceFirst(run(task), watch(shared, stall, onProgress))
      yield* onProgress(1)
    })
    const limited = Effect.timeoutOrElse(dump, {
      duration: timeout,
      orElse: () => Effect.fail(new DumpFailed({ reason: `It took longer than ${timeout / 1000} s` }))
    })
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(limited), keep(partial, file)).pipe(
        Effect.onExit((exit) =>
          Exit.isSuccess(exit) ? Effect.void : Effect.promise(() => rm(partial, { force: true }).catch(() => undefined))
        ),
        Effect.mapError(({ reason }) => new DumpFailed({ reason: withoutPassword(reason, source) }))
      )
    )
  }
