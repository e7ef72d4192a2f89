import { IncomingRequest } from "../../services/access/IncomingRequest.ts"

/** Parts of a body below this size are merged, in bytes, up to the second size. */
const [smallBytes, mergedBytes] = [1024, 16 * 1024]

/** Small parts of a body that are read without a pause. Node needs microseconds for each. */
const manyParts = 1_000
/** Interval in ms at which one of the requests with more parts is read. */
const turnMillis = 20

/** Continues to read a request. */
const crowded: Array<() => void> = []
let turns: NodeJS.Timeout | undefined
const nextTurn = () => {
  crowded.shift()?.()
  if (crowded.length > 0) return
  clearInterval(turns)
  turns = undefined
}

/**
 * A request whose body arrives in parts of a useful size. A body in chunks of a few bytes (RFC 9112 7.1) would otherwise
 * take a hundred times its size: each part is an object, and keeps in memory all that arrived together with it. Such
 * bodies are also read in turn, because all of them together would occupy the event loop.
 */
export class MergedRequest extends IncomingRequest {
  private seen = false
  private merged: Buffer | undefined
  private length = 0
  /** Small parts since the last pause. */
  private parts = 0
  private queued = false

  override push(part: Buffer | null, encoding?: BufferEncoding): boolean {
    // Most bodies are one small part.
    if (part !== null && part.length < smallBytes && this.seen) return this.merge(part)
    this.seen = true
    this.flush()
    return super.push(part, encoding)
  }

  private merge(part: Buffer) {
    if (this.length + part.length > mergedBytes) this.flush()
    if (this.merged === undefined) {
      this.merged = Buffer.allocUnsafe(mergedBytes)
      // The parts are merged once all that arrived together have been added.
      setImmediate(() => this.flush())
    }
    this.parts++
    this.length += part.copy(this.merged, this.length)
    return this.parts < manyParts && this.readableLength + this.length < this.readableHighWaterMark
  }

  /** Called when more of the body is wanted. */
  override _read(size: number) {
    if (this.queued) return
    if (this.parts < manyParts) {
      super._read(size)
      return
    }
    this.queued = true
    crowded.push(() => {
      this.queued = false
      this.parts = 0
      super._read(size)
    })
    turns ??= setInterval(nextTurn, turnMillis)
  }

  private flush() {
    const { length, merged } = this
    this.merged = undefined
    this.length = 0
    if (merged !== undefined && !this.destroyed) super.push(merged.subarray(0, length))
  }
}
