import { Clock, Effect, type Scope } from "effect"
import { once } from "node:events"
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { Worker } from "node:worker_threads"
import { syncDirectory } from "../../../process/StoredFile.ts"
import { type FileOwner } from "../../../process/FileLock.ts"
import { attempt, errorCode, StartError, startError } from "../../../process/StartError.ts"
import { type BlobFiles } from "./blobs/Files.ts"
import { type S3Code, type S3Error, s3Error } from "../Error.ts"
import type { IndexOptions, WorkerAnswer, WorkerCommand, WorkerOutcome, Reads, Writes } from "./worker/Worker.ts"
import type { IndexChange } from "./worker/Tables.ts"

type Value<A> = A extends IndexChange<infer V> ? V : never

/** The thread that owns the index. */
export interface StoreIndex {
  /** `onResult` receives the result before any later result is processed. */
  readonly read: <K extends keyof Reads>(
    name: K,
    given: Parameters<Reads[K]>,
    onResult?: (value: ReturnType<Reads[K]>) => void
  ) => Effect.Effect<ReturnType<Reads[K]>, S3Error>
  /** Completes when the change is on disk. Uninterruptible, so that its outcome is always determined. */
  readonly write: <K extends keyof Writes>(
    name: K,
    given: Parameters<Writes[K]>
  ) => Effect.Effect<Value<ReturnType<Writes[K]>>, S3Error>
}

export interface HistoryOptions {
  readonly enabled: boolean
  /** How long it is kept, in ms. */
  readonly keep: number
  /** A bucket without a history: that of an archive, which keeps its objects as long as it needs them. */
  readonly except?: string | undefined
}

type Started = { readonly start: number } | { readonly failed: string }

/** Starts the thread. Files that a change leaves unreferenced are deleted. */
export const openIndex = (
  files: BlobFiles,
  owner: FileOwner | undefined,
  { enabled, except }: Pick<HistoryOptions, "enabled" | "except">
): Effect.Effect<StoreIndex, StartError, Scope.Scope> =>
  Effect.gen(function* () {
    const file = files.index
    yield* attempt(`${file} can't be created`, () => create(file, owner))
    const options: IndexOptions = { file, history: enabled, except, now: yield* Clock.currentTimeMillis }
    const message = `The index of the stored objects ${file} can't be opened`
    const worker = yield* Effect.acquireRelease(
      Effect.try({
        try: () => new Worker(new URL("./worker/Worker.ts", import.meta.url), { workerData: options }),
        catch: (cause) => startError(message, cause)
      }),
      close
    )
    const started = yield* attempt(message, () => firstAnswer(worker))
    if ("failed" in started) return yield* new StartError({ message: `${message}: ${started.failed}` })
    files.begin(started.start)
    const send = commandSender(worker)
    return {
      read: (name, given, onResult) => send("read", name, given, onResult as (value: unknown) => void) as never,
      write: (name, given) =>
        Effect.uninterruptible(
          Effect.map(send("write", name, given), (answer) => {
            const { value, freed } = answer as IndexChange<never>
            if (freed.length > 0) files.free(freed)
            return value
          })
        )
    } satisfies StoreIndex
  })

/**
 * Creates a missing database file with the right mode and owner, which SQLite copies to its other files. An existing file
 * is not opened, since closing it would release this process's locks on it.
 */
const create = async (file: string, owner: FileOwner | undefined) => {
  const handle = await open(file, "ax", 0o600).catch((cause: unknown) => {
    if (errorCode(cause) !== "EEXIST") throw cause
  })
  if (handle === undefined) return
  try {
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
  } finally {
    await handle.close()
  }
  await syncDirectory(dirname(file))
}

/** The thread's report of its start. Under `node --watch` the runtime sends messages of its own on the same channel. */
const firstAnswer = (worker: Worker) =>
  new Promise<Started>((resolve, reject) => {
    worker.on("message", (message: Started | object) => {
      if ("start" in message || "failed" in message) resolve(message)
    })
    worker.on("error", reject)
  })

/** Sends numbered commands to the thread and matches the answers to them. */
const commandSender = (worker: Worker) => {
  const pending = new Map<number, (outcome: WorkerOutcome) => void>()
  let count = 0
  let ended: string | undefined
  const end = (reason: string) => {
    ended ??= reason
    for (const answer of pending.values()) answer({ defect: ended })
    pending.clear()
  }
  worker.on("message", (message: unknown) => {
    if (!Array.isArray(message)) return
    for (const [number, outcome] of message as ReadonlyArray<WorkerAnswer>) {
      pending.get(number)?.(outcome)
      pending.delete(number)
    }
  })
  worker.on("error", (cause) => end(`The object index thread failed: ${String(cause)}`))
  worker.on("exit", () => end("The object index thread has ended"))

  return (kind: WorkerCommand[1], name: string, given: ReadonlyArray<unknown>, onResult?: (value: unknown) => void) =>
    Effect.callback<unknown, S3Error>((resume) => {
      if (ended !== undefined) {
        resume(Effect.die(new Error(ended)))
        return
      }
      const number = count++
      pending.set(number, (outcome) => {
        if ("value" in outcome) onResult?.(outcome.value)
        resume(toEffect(outcome))
      })
      const command: WorkerCommand = [number, kind, name, given]
      worker.postMessage(command)
    })
}

const toEffect = (outcome: WorkerOutcome): Effect.Effect<unknown, S3Error> => {
  if ("value" in outcome) return Effect.succeed(outcome.value)
  if ("defect" in outcome) return Effect.die(new Error(outcome.defect))
  return Effect.fail(s3Error(outcome.failure as S3Code, undefined, outcome.extra, outcome.headers))
}

/** Lets the thread finish pending commands and close the database. */
const close = (worker: Worker) =>
  Effect.promise(async () => {
    if (worker.threadId === -1) return
    const ended = once(worker, "exit").catch(() => undefined)
    worker.postMessage("close")
    await ended
  })
