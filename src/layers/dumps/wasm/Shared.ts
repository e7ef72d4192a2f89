import type { ZstdCompress } from "node:zlib"

/**
 * Ends the output as one frame. Node ends the frame with the chunk that it compresses when `end` has been called, and then
 * writes another, empty one: so `end` is called when all chunks have been compressed.
 */
export const endFrame = (zstd: ZstdCompress) => zstd.write(Buffer.alloc(0), () => zstd.end())

/** Memory that the threads of one dump share: the main thread, Bridge.ts and Worker.ts. */
export interface DumpWasmShared {
  /** Indexed by `at`; only accessed through `Atomics`. */
  readonly counters: Int32Array<SharedArrayBuffer>
  /** Bytes from the server that pg_dump has not read: byte n of the stream is at `n & (ring.length - 1)`. */
  readonly ring: Uint8Array<SharedArrayBuffer>
  /** Output of pg_dump that is not yet compressed: `chunks` pieces of `chunkBytes`, filled in turn. */
  readonly chunks: Uint8Array<SharedArrayBuffer>
}

/** Counts of bytes wrap around at 32 bits: only differences are meaningful. */
export const at = {
  /** Incremented whenever the reader should check again. */
  event: 0,
  /** Bytes written to the ring, and read from it. */
  received: 1,
  taken: 2,
  /** 1: the reader should notify when the ring has space. */
  full: 3,
  /** 1: the connection is closed. */
  closed: 4,
  /** Bytes sent to the server. */
  sent: 5,
  /** Chunks that may be reused. */
  freed: 6,
  /** Progress in millionths. */
  progress: 7
} as const

/** Powers of two. */
const ringBytes = 4 << 20
export const chunkBytes = 1 << 19
export const chunks = 4

export const makeDumpWasmShared = (): DumpWasmShared => ({
  counters: new Int32Array(new SharedArrayBuffer(Object.keys(at).length * Int32Array.BYTES_PER_ELEMENT)),
  ring: new Uint8Array(new SharedArrayBuffer(ringBytes)),
  chunks: new Uint8Array(new SharedArrayBuffer(chunks * chunkBytes))
})

/** A number that changes while data flows. */
export const activity = ({ counters }: DumpWasmShared): number =>
  [at.received, at.taken, at.sent, at.freed].reduce((sum, i) => (sum + Atomics.load(counters, i)) | 0, 0)
