import { type FileHandle, open } from "node:fs/promises"
import { Readable } from "node:stream"
import { type BlobFiles } from "./Files.ts"
import type { Segment } from "../worker/Rows.ts"

/** Bytes per read. */
const chunkSize = 256 * 1024

/** A range of one segment. */
interface SegmentRange {
  readonly blob: string
  readonly start: number
  readonly size: number
}

/** The ranges of the segments between two offsets, both inclusive, of their concatenation. */
const rangesBetween = (segments: ReadonlyArray<Segment>, start: number, end: number): Array<SegmentRange> => {
  const found: Array<SegmentRange> = []
  let offset = 0
  for (const [blob, size] of segments) {
    const from = Math.max(start - offset, 0)
    const to = Math.min(end - offset, size - 1)
    if (from <= to) found.push({ blob, start: from, size: to - from + 1 })
    offset += size
  }
  return found
}

/** The bytes of an object from `start` to `end`; its files are kept until the stream is closed. */
export class BlobReader extends Readable {
  private readonly files: BlobFiles
  private readonly bytes: ReadonlyMap<string, Uint8Array>
  private readonly remaining: Array<SegmentRange>
  private readonly pinned: ReadonlyArray<string>
  /** The file of the last range in `remaining`. */
  private opening: Promise<FileHandle> | undefined
  private position = 0

  constructor(
    files: BlobFiles,
    segments: ReadonlyArray<Segment>,
    bytes: ReadonlyMap<string, Uint8Array>,
    start: number,
    end: number
  ) {
    super({ highWaterMark: chunkSize })
    this.files = files
    this.bytes = bytes
    this.remaining = rangesBetween(segments, start, end).toReversed()
    this.pinned = this.remaining.map(({ blob }) => blob)
    files.pin(this.pinned)
  }

  override _read() {
    this.step().catch((cause: unknown) => this.destroy(cause as Error))
  }

  override _destroy(cause: Error | null, done: (cause: Error | null) => void) {
    this.close().then(
      () => done(cause),
      (failure: unknown) => done(cause ?? (failure as Error))
    )
  }

  /** Pushes a chunk or the end. */
  private async step() {
    const range = this.remaining.at(-1)
    if (range === undefined) {
      this.push(null)
      return
    }
    const bytes = this.bytes.get(range.blob)
    if (bytes !== undefined) {
      this.remaining.pop()
      this.push(bytes.subarray(range.start, range.start + range.size))
      return
    }
    if (this.opening === undefined) {
      this.opening = open(this.files.path(range.blob), "r")
      this.position = 0
    }
    const handle = await this.opening
    const wanted = Math.min(chunkSize, range.size - this.position)
    const buffer = Buffer.allocUnsafeSlow(wanted)
    const { bytesRead } = await handle.read(buffer, 0, wanted, range.start + this.position)
    if (bytesRead === 0) throw new Error(`The file of blob ${range.blob} is truncated`)
    this.position += bytesRead
    if (this.position === range.size) {
      this.remaining.pop()
      this.opening = undefined
      await handle.close()
    }
    this.push(buffer.subarray(0, bytesRead))
  }

  private async close() {
    const handle = await this.opening?.catch(() => undefined)
    await handle?.close() // waits for a read in progress
    this.files.unpin(this.pinned)
  }
}
