import { createHash } from "node:crypto"
import { Effect, Exit, type Scope } from "effect"
import { S3Error, s3Error } from "../../Error.ts"
import { type Blob, type WriteOptions } from "../Model.ts"
import type { NewBlob } from "../worker/Tables.ts"
import { type BlobFiles, fileFailure } from "./Files.ts"
import { type BlobHash } from "./Hash.ts"
import { BlobWriter, SharedBuffers, bufferSize } from "./Writer.ts"

/** A body being read; `stop` also ends a read that is waiting for the next chunk. */
class BlobBody {
  private readonly iterator: AsyncIterator<Uint8Array>
  private readonly options: WriteOptions
  private read = 0
  private stopped = false
  private reject: ((cause: unknown) => void) | undefined

  constructor(body: AsyncIterable<Uint8Array>, options: WriteOptions) {
    this.iterator = body[Symbol.asyncIterator]()
    this.options = options
  }

  /** Bytes so far. */
  get size() {
    return this.read
  }

  /** The next chunk, undefined at the end. Throws the body's S3Error, or IncompleteBody for any other exception. */
  async next(): Promise<Uint8Array | undefined> {
    const result = await this.pull().catch((cause: unknown) => {
      throw cause instanceof S3Error ? cause : s3Error("IncompleteBody", "The request body ended unexpectedly.")
    })
    if (result.done === true) return undefined
    this.read += result.value.length
    if (this.read > (this.options.limit ?? Infinity)) throw s3Error("EntityTooLarge")
    this.options.sink?.(result.value)
    return result.value
  }

  /** Fails the current read and all later ones. */
  stop() {
    this.stopped = true
    this.reject?.(new Error("Stopped"))
  }

  /** Ends the iteration, as leaving a `for await` does, without waiting for the body. */
  leave() {
    const left = this.iterator.return?.()
    if (left !== undefined) Promise.resolve(left).catch(() => undefined)
  }

  private pull(): Promise<IteratorResult<Uint8Array>> {
    // Racing against one long-lived promise would retain every chunk until the end.
    return new Promise((resolve, reject) => {
      if (this.stopped) throw new Error("Stopped")
      this.reject = reject
      this.iterator.next().then(resolve, reject)
    })
  }
}

/** The maximum size of a chunk from a socket, in bytes. */
const chunkSize = 64 * 1024

/** Blobs up to this size, in bytes, are stored in the index: one sync for many objects instead of two for each. */
const smallSize = 16 * 1024

/** Blobs that do not belong to an object yet. */
export class BlobDrafts {
  private readonly files: BlobFiles
  private readonly hash: () => BlobHash
  private readonly buffers = new SharedBuffers()
  private readonly drafts = new Map<string, Draft>()

  constructor(files: BlobFiles, hash: () => BlobHash) {
    this.files = files
    this.hash = hash
  }

  write(body: AsyncIterable<Uint8Array>, options: WriteOptions = {}): Effect.Effect<Blob, S3Error, Scope.Scope> {
    return this.make((draft) => draft.read(new BlobBody(body, options), this.hash, this.buffers))
  }

  /** Copies the file of another blob. */
  clone(from: string, size: number, md5: string): Effect.Effect<Blob, S3Error, Scope.Scope> {
    return this.make((draft) => draft.clone(from, size, md5))
  }

  /** Passes a draft to a change of the index, which owns it if the change succeeds. */
  use<A>(blob: Blob, change: (blob: NewBlob) => Effect.Effect<A, S3Error>): Effect.Effect<A, S3Error> {
    return Effect.suspend(() => {
      const draft = this.drafts.get(blob.id)
      if (draft === undefined)
        return Effect.die(new Error(`Blob ${blob.id} has already been put, or its scope is closed`))
      return Effect.uninterruptible(
        Effect.onExit(change({ ...blob, bytes: draft.bytes }), (exit) =>
          Effect.sync(() => {
            // A defect leaves open whether the index has the blob: the next start's sweep decides.
            if (Exit.isSuccess(exit) || !exit.cause.reasons.every((reason) => reason._tag === "Fail")) this.keep(draft)
          })
        )
      )
    })
  }

  private keep(draft: Draft) {
    draft.kept = true
    this.drafts.delete(draft.id)
  }

  private make(fill: (draft: Draft) => Promise<Blob>): Effect.Effect<Blob, S3Error, Scope.Scope> {
    const end = (draft: Draft) =>
      Effect.promise(() => {
        this.drafts.delete(draft.id)
        return draft.end()
      })
    return Effect.flatMap(
      Effect.acquireRelease(
        Effect.sync(() => new Draft(this.files)),
        end
      ),
      (draft) =>
        Effect.onExit(filled(draft, fill), (exit) => {
          if (Exit.isFailure(exit)) return end(draft)
          this.drafts.set(draft.id, draft)
          return Effect.void
        })
    )
  }
}

const filled = (draft: Draft, fill: (draft: Draft) => Promise<Blob>) =>
  Effect.callback<Blob, S3Error>((resume) => {
    draft.run(fill).then(
      (blob) => resume(Effect.succeed(blob)),
      (cause: unknown) => {
        const failure = cause instanceof S3Error ? cause : fileFailure(cause)
        resume(failure === undefined ? Effect.die(cause) : Effect.fail(failure))
      }
    )
  })

/** A blob until it is put or discarded. */
class Draft {
  readonly id: string
  /** The bytes of a blob without a file, in an ArrayBuffer of their own, which is copied whole to another thread. */
  bytes: Uint8Array | undefined
  kept = false
  private readonly files: BlobFiles
  private body: BlobBody | undefined
  private writer: BlobWriter | undefined
  private hasFile = false
  private running: Promise<unknown> | undefined

  constructor(files: BlobFiles) {
    this.files = files
    this.id = files.newId()
  }

  run(fill: (draft: Draft) => Promise<Blob>): Promise<Blob> {
    const running = fill(this)
    this.running = running
    return running
  }

  async read(body: BlobBody, hash: () => BlobHash, buffers: SharedBuffers): Promise<Blob> {
    this.body = body
    let writing: Promise<void> | undefined
    let chunks: Array<Uint8Array> = []
    let pending = 0
    try {
      for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
        chunks.push(chunk)
        pending += chunk.length
        // One more chunk might exceed the buffer, which would take two messages to the hashing thread.
        if (pending <= bufferSize - chunkSize) continue
        // The next chunks are received while these are written.
        await writing
        writing = this.fileWriter(hash, buffers).write(chunks)
        writing.catch(() => body.stop())
        chunks = []
        pending = 0
      }
      await writing
      writing = undefined
      if (this.writer === undefined && pending <= smallSize) return await this.small(chunks, pending)
      const writer = this.fileWriter(hash, buffers)
      await writer.write(chunks)
      return { id: this.id, size: body.size, md5: await writer.finish() }
    } catch (cause) {
      body.leave()
      await writing // a failed write takes precedence over the stopped body
      throw cause
    }
  }

  async clone(from: string, size: number, md5: string): Promise<Blob> {
    this.hasFile = true
    await this.files.clone(from, this.id, size)
    return { id: this.id, size, md5 }
  }

  /** Stops a running write and deletes the blob unless it is kept. */
  async end() {
    if (this.kept) return
    this.body?.stop()
    await this.running?.catch(() => undefined)
    await this.writer?.abandon()
    this.writer = undefined
    if (this.hasFile) await this.files.discard(this.id)
    this.hasFile = false
    this.bytes = undefined
  }

  private fileWriter(hash: () => BlobHash, buffers: SharedBuffers): BlobWriter {
    this.hasFile = true
    return (this.writer ??= new BlobWriter(this.id, this.files, buffers, hash()))
  }

  private async small(chunks: ReadonlyArray<Uint8Array>, size: number): Promise<Blob> {
    await this.files.space.take(size)
    const bytes = new Uint8Array(size)
    let at = 0
    for (const chunk of chunks) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    this.bytes = bytes
    return { id: this.id, size, md5: createHash("md5").update(bytes).digest("hex") }
  }
}
