/** Memory that the threads of one dump share: the service's, DumpWasmBridge.ts and DumpWasmWorker.ts. */
export interface DumpWasmShared {
  /** Numbered by `at`; only through `Atomics`. */
  readonly counters: Int32Array<SharedArrayBuffer>
  /** What came from the server and pg_dump has not read: byte n of the connection is at `n & (ring.length - 1)`. */
  readonly ring: Uint8Array<SharedArrayBuffer>
  /** What pg_dump wrote and is not compressed: `chunks` pieces of `chunkBytes`, filled one after the other. */
  readonly chunks: Uint8Array<SharedArrayBuffer>
}

/** Counts of bytes wrap around at 32 bits: only their differences mean something. */
export const at = {
  /** Goes up whenever the reader should look again. */
  event: 0,
  /** Bytes put into the ring, and taken out of it. */
  received: 1,
  taken: 2,
  /** 1: the reader should say when there is room in the ring. */
  full: 3,
  /** 1: the connection is over. */
  closed: 4,
  /** Bytes sent to the server. */
  sent: 5,
  /** Chunks whose place may be used again. */
  freed: 6,
  /** How far it is, in millionths. */
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

/** A number that changes as long as anything moves. */
export const movement = ({ counters }: DumpWasmShared): number =>
  [at.received, at.taken, at.sent, at.freed].reduce((sum, i) => (sum + Atomics.load(counters, i)) | 0, 0)
