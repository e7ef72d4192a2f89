import { createHash, type Hash } from "node:crypto"
import { parentPort } from "node:worker_threads"

// The hashing thread of Hash.ts: MD5 of many concurrent streams.

/** `bytes` to add to the hash of a stream; undefined ends the stream. */
export type HashMessage = readonly [stream: number, bytes: Uint8Array | undefined]

const port = parentPort
if (port === null) throw new Error("This module must run as a worker thread")
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
