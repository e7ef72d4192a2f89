import { Effect, type Scope } from "effect"
import { once } from "node:events"
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { Worker } from "node:worker_threads"
import { syncDirectory } from "../../../process/DataDir.ts"
import { type Owner } from "../../../process/FileLock.ts"
import { attempt, errorCode, StartError, startError } from "../../../process/StartError.ts"
import { type BlobFiles } from "./blobs/Files.ts"
import { type S3Code, type S3Error, s3Error } from "../Error.ts"
import type { Answer, Command, Outcome, Reads, Writes } from "./worker/Worker.ts"
import type { Change } from "./worker/Tables.ts"

type Value<A> = A extends Change<infer V> ? V : never

/** The thread that owns the index. */
export interface StoreIndex {
  /** `seize` sees the answer before any later answer is looked at. */
  readonly read: <K extends keyof Reads>(
    name: K,
    given: Parameters<Reads[K]>,
    seize?: (value: ReturnType<Reads[K]>) => void
  ) => Effect.Effect<ReturnType<Reads[K]>, S3Error>
  /** Answers when the change is on disk. Not interruptible, so that its outcome is always known. */
  readonly write: <K extends keyof Writes>(
    name: K,
    given: Parameters<Writes[K]>
  ) => Effect.Effect<Value<ReturnType<Writes[K]>>, S3Error>
}

type Started = { readonly start: number } | { readonly failed: string }

/** Files that a change leaves without use are freed. */
export const openIndex = (
  files: BlobFiles,
  owner: Owner | undefined
): Effect.Effect<StoreIndex, StartError, Scope.Scope> =>
  Effect.gen(function* () {
    const file = files.index
    yield* attempt(`${file} can't be made`, () => create(file, owner))
    const tried = `The index of the stored objects ${file} can't be opened`
    const worker = yield* Effect.acquireRelease(
      Effect.try({
        try: () => new Worker(new URL("./worker/Worker.ts", import.meta.url), { workerData: file }),
        catch: (cause) => startError(tried, cause)
      }),
      close
    )
    const started = yield* attempt(tried, () => firstAnswer(worker))
    if ("failed" in started) return yield* new StartError({ message: `${tried}: ${started.failed}` })
    files.begin(started.start)
    const ask = asker(worker)
    return {
      read: (name, given, seize) => ask("read", name, given, seize as (value: unknown) => void) as never,
      write: (name, given) =>
        Effect.uninterruptible(
          Effect.map(ask("write", name, given), (answer) => {
            const { value, freed } = answer as Change<never>
            if (freed.length > 0) files.free(freed)
            return value
          })
        )
    } satisfies StoreIndex
  })

/**
 * Made here, when it is not there, for its mode and owner: SQLite gives those to its other files too. One that is there
 * is not opened, since closing it again would drop this process's locks on it.
 */
const create = async (file: string, owner: Owner | undefined) => {
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

/** What the thread says of its start. Under `node --watch` the runtime sends messages of its own on the same way. */
const firstAnswer = (worker: Worker) =>
  new Promise<Started>((resolve, reject) => {
    worker.on("message", (message: Started | object) => {
      if ("start" in message || "failed" in message) resolve(message)
    })
    worker.on("error", reject)
  })

/** Numbered commands to the thread; each answer finds who asked. */
const asker = (worker: Worker) => {
  const asked = new Map<number, (outcome: Outcome) => void>()
  let count = 0
  let gone: string | undefined
  const end = (reason: string) => {
    gone ??= reason
    for (const answer of asked.values()) answer({ broken: gone })
    asked.clear()
  }
  worker.on("message", (message: unknown) => {
    if (!Array.isArray(message)) return
    for (const [number, outcome] of message as ReadonlyArray<Answer>) {
      asked.get(number)?.(outcome)
      asked.delete(number)
    }
  })
  worker.on("error", (cause) => end(`The thread of the object index failed: ${String(cause)}`))
  worker.on("exit", () => end("The thread of the object index has ended"))

  return (kind: Command[1], name: string, given: ReadonlyArray<unknown>, seize?: (value: unknown) => void) =>
    Effect.callback<unknown, S3Error>((resume) => {
      if (gone !== undefined) {
        resume(Effect.die(new Error(gone)))
        return
      }
      const number = count++
      asked.set(number, (outcome) => {
        if ("value" in outcome) seize?.(outcome.value)
        resume(settled(outcome))
      })
      const command: Command = [number, kind, name, given]
      worker.postMessage(command)
    })
}

const settled = (outcome: Outcome): Effect.Effect<unknown, S3Error> => {
  if ("value" in outcome) return Effect.succeed(outcome.value)
  if ("broken" in outcome) return Effect.die(new Error(outcome.broken))
  return Effect.fail(s3Error(outcome.refused as S3Code, undefined, outcome.extra))
}

/** Lets it finish what it was asked, and close the database. */
const close = (worker: Worker) =>
  Effect.promise(async () => {
    if (worker.threadId === -1) return
    const ended = once(worker, "exit").catch(() => undefined)
    worker.postMessage("close")
    await ended
  })
