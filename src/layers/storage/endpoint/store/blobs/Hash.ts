import { Effect, type Scope } from "effect"
import { Worker } from "node:worker_threads"
import type { HashMessage } from "./HashWorker.ts"

/** Computes the MD5 of one stream of bytes. */
export interface BlobHash {
  /** Adds bytes in shared memory, which must not change until this resolves. */
  readonly update: (bytes: Uint8Array) => Promise<unknown>
  /** The hash in hex. Must always be called, because it ends the stream. */
  readonly digest: () => Promise<string>
}

/**
 * Hashes in a separate thread, started on first use: MD5 processes about 700 MB/s, which would take half of the main
 * thread's time during a large upload.
 */
export const makeBlobHashes: Effect.Effect<() => BlobHash, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Hashes()),
    (hashes) => Effect.promise(() => hashes.close())
  ),
  (hashes) => () => hashes.stream()
)

interface Pending {
  readonly resolve: (digest: string) => void
  readonly reject: (cause: unknown) => void
}

class Hashes {
  private worker: Worker | undefined
  private readonly pending: Array<Pending> = []
  private count = 0

  stream(): BlobHash {
    const stream = this.count++
    return {
      update: (bytes) => this.send([stream, bytes]),
      digest: () => this.send([stream, undefined])
    }
  }

  async close() {
    await this.worker?.terminate()
  }

  /** Replies arrive in the order of the messages. */
  private send(message: HashMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      this.pending.push({ resolve, reject })
      this.worker ??= this.started()
      this.worker.postMessage(message)
    })
  }

  private started() {
    const worker = new Worker(new URL("./HashWorker.ts", import.meta.url))
    let failure = new Error("The hashing thread has ended")
    worker.on("message", (digest: unknown) => {
      // The runtime sends messages of its own on the same channel under `node --watch`.
      if (typeof digest === "string") this.pending.shift()?.resolve(digest)
    })
    worker.on("error", (cause) => (failure = new Error("The hashing thread failed", { cause })))
    worker.on("exit", () => {
      this.worker = undefined // the next message starts a new thread
      for (const { reject } of this.pending.splice(0)) reject(failure)
    })
    return worker
  }
}
