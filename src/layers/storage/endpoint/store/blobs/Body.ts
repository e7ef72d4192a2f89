import { S3Error, s3Error } from "../../Error.ts"
import { type WriteOptions } from "../Model.ts"

/** A body being read; `stop` also ends a read that is waiting for the next chunk. */
export class BlobBody {
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
