import { Effect, type Scope } from "effect"
import { Worker } from "node:worker_threads"
import type { HashMessage } from "./HashWorker.ts"

/** The MD5 of one stream of bytes. */
export interface BlobHash {
  /** Adds bytes in shared memory, which must stay as they are until this is done. */
  readonly update: (bytes: Uint8Array) => Promise<unknown>
  /** In hex. Must be asked for, wanted or not: it ends the stream. */
  readonly digest: () => Promise<string>
}

/**
 * Hashes in a thread of its own, started when first needed: MD5 runs at some 700 MB/s, which would take half of the
 * main thread from a large upload.
 */
export const makeBlobHashes: Effect.Effect<() => BlobHash, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Hashes()),
    (hashes) => Effect.promise(() => hashes.close())
  ),
  (hashes) => () => hashes.stream()
)

interface Asked {
  readonly resolve: (digest: string) => void
  readonly reject: (cause: unknown) => void
}

class Hashes {
  private worker: Worker | undefined
  private readonly asked: Array<Asked> = []
  private count = 0

  stream(): BlobHash {
    const stream = this.count++
    return {
      update: (bytes) => this.ask([stream, bytes]),
      digest: () => this.ask([stream, undefined])
    }
  }

  async close() {
    await this.worker?.terminate()
  }

  /** Answers come in the order of the questions. */
  private ask(message: HashMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      this.asked.push({ resolve, reject })
      this.worker ??= this.started()
      this.worker.postMessage(message)
    })
  }

  private started() {
    const worker = new Worker(new URL("./HashWorker.ts", import.meta.url))
    let failure = new Error("The hashing thread has ended")
    worker.on("message", (digest: unknown) => {
      // Under `node --watch` the runtime sends messages of its own on the same way.
      if (typeof digest === "string") this.asked.shift()?.resolve(digest)
    })
    worker.on("error", (cause) => (failure = new Error("The hashing thread failed", { cause })))
    worker.on("exit", () => {
      this.worker = undefined // the next one that asks gets a new thread
      for (const { reject } of this.asked.splice(0)) reject(failure)
    })
    return worker
  }
}
