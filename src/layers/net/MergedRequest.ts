import { IncomingMessage } from "node:http"

/** Parts of a body below this size are merged, in bytes, up to the second size. */
const [smallBytes, mergedBytes] = [1024, 16 * 1024]

/**
 * A request whose body arrives in parts of a useful size. A body in chunks of a few bytes (RFC 9112 7.1) would otherwise
 * take a hundred times its size: each part is an object, and keeps in memory all that arrived together with it.
 */
export class MergedRequest extends IncomingMessage {
  private seen = false
  private merged: Buffer | undefined
  private length = 0

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
      // After all parts that have arrived together.
      setImmediate(() => this.flush())
    }
    this.length += part.copy(this.merged, this.length)
    return this.readableLength + this.length < this.readableHighWaterMark
  }

  private flush() {
    const { length, merged } = this
    this.merged = undefined
    this.length = 0
    if (merged !== undefined && !this.destroyed) super.push(merged.subarray(0, length))
  }
}
