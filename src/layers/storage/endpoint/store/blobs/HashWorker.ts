import { createHash, type Hash } from "node:crypto"
import { parentPort } from "node:worker_threads"

// The thread of BlobHash.ts: MD5 of many streams at once.

/** `bytes` to be added to the hash of a stream, or without them: its end. */
export type HashMessage = readonly [stream: number, bytes: Uint8Array | undefined]

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
const hashes = new Map<number, Hash>()

port.on("message", ([stream, bytes]: HashMessage) => {
  const hash = hashes.get(stream) ?? createHash("md5")
  if (bytes === undefined) {
    hashes.delete(stream)
    port.postMessage(hash.digest("hex"))
  } else {
    hashes.set(stream, hash)
    hash.update(bytes)
    port.postMessage("")
  }
})
