import { S3Error, s3Error } from "../../Error.ts"
import { type WriteOptions } from "../Model.ts"

/** A body being read, which can be told to stop while it waits for more. */
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

  /** The next chunk, undefined at the end. Throws what the body throws if it is an S3Error, else IncompleteBody. */
  async next(): Promise<Uint8Array | undefined> {
    const result = await this.pull().catch((cause: unknown) => {
      throw cause instanceof S3Error ? cause : s3Error("IncompleteBody", "The request body broke off.")
    })
    if (result.done === true) return undefined
    this.read += result.value.length
    if (this.read > (this.options.limit ?? Infinity)) throw s3Error("EntityTooLarge")
    this.options.sink?.(result.value)
    return result.value
  }

  /** Ends the wait for a chunk with a failure, and any later one. */
  stop() {
    this.stopped = true
    this.reject?.(new Error("Stopped"))
  }

  /** Tells the body that nothing more is wanted, as leaving a `for await` would; one that hangs is not waited for. */
  leave() {
    const left = this.iterator.return?.()
    if (left !== undefined) Promise.resolve(left).catch(() => undefined)
  }

  private pull(): Promise<IteratorResult<Uint8Array>> {
    // Not a race with one promise for all chunks, which would remember each of them until the end.
    return new Promise((resolve, reject) => {
      if (this.stopped) throw new Error("Stopped")
      this.reject = reject
      this.iterator.next().then(resolve, reject)
    })
  }
}
