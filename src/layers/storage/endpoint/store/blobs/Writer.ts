import { type FileHandle } from "node:fs/promises"
import { type BlobFiles } from "./Files.ts"
import { type BlobHash } from "./Hash.ts"

/** A sync is started after this many bytes while more arrive, so that the final one is short. */
const syncEvery = 64 * 1024 * 1024

/** A file being written: in blocks of one buffer, hashed along the way, synced and renamed at the end. */
export class BlobWriter {
  readonly id: string
  private readonly files: BlobFiles
  private readonly buffers: SharedBuffers
  private readonly hash: BlobHash
  private handle: FileHandle | undefined
  private position = 0
  private unsynced = 0
  private syncing: Promise<void> | undefined
  private digest: Promise<string> | undefined

  constructor(id: string, files: BlobFiles, buffers: SharedBuffers, hash: BlobHash) {
    this.id = id
    this.files = files
    this.buffers = buffers
    this.hash = hash
  }

  /** Appends; one call at a time. */
  async write(chunks: ReadonlyArray<Uint8Array>) {
    this.handle ??= await this.files.create(this.id)
    const buffer = await this.buffers.take()
    try {
      let filled = 0
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length;) {
          const taken = Math.min(bufferSize - filled, chunk.length - at)
          buffer.set(chunk.subarray(at, at + taken), filled)
          filled += taken
          at += taken
          if (filled < bufferSize) continue
          await this.flush(this.handle, buffer)
          filled = 0
        }
      }
      if (filled > 0) await this.flush(this.handle, buffer.subarray(0, filled))
    } finally {
      this.buffers.release(buffer)
    }
  }

  /** The MD5, after the file is on disk under its final name. */
  async finish(): Promise<string> {
    this.digest = this.hash.digest()
    this.digest.catch(() => undefined)
    this.handle ??= await this.files.create(this.id)
    await this.syncing
    await this.handle.sync()
    await this.close()
    await this.files.place(this.id)
    return await this.digest
  }

  /** Ends the write at any point; the caller deletes the file. */
  async abandon() {
    this.digest ??= this.hash.digest()
    await this.digest.catch(() => undefined)
    await this.syncing?.catch(() => undefined)
    await this.close().catch(() => undefined)
  }

  private async flush(handle: FileHandle, bytes: Uint8Array) {
    await this.files.space.take(bytes.length)
    const hashed = this.hash.update(bytes)
    try {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, this.position)
        at += bytesWritten
        this.position += bytesWritten
      }
    } finally {
      await hashed // only then can the buffer be reused
    }
    this.unsynced += bytes.length
    if (this.unsynced < syncEvery) return
    await this.syncing
    this.unsynced = 0
    this.syncing = handle.datasync()
    this.syncing.catch(() => undefined)
  }

  private async close() {
    const handle = this.handle
    this.handle = undefined
    await handle?.close()
  }
}

/** The size of a buffer, in bytes. */
export const bufferSize = 256 * 1024

/** 4 MiB of memory for all uploads together. */
const maxBuffers = 16

/**
 * A pool of buffers shared between threads, each lent for one write. A holder must not wait for its client, or slow
 * clients would stall the fast ones.
 */
export class SharedBuffers {
  private readonly free: Array<Uint8Array> = []
  private readonly waiting: Array<(buffer: Uint8Array) => void> = []
  private made = 0

  take(): Promise<Uint8Array> {
    const buffer = this.free.pop()
    if (buffer !== undefined) return Promise.resolve(buffer)
    if (this.made < maxBuffers) {
      this.made++
      return Promise.resolve(new Uint8Array(new SharedArrayBuffer(bufferSize)))
    }
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  release(buffer: Uint8Array): void {
    const waiting = this.waiting.shift()
    if (waiting !== undefined) waiting(buffer)
    else this.free.push(buffer)
  }
}
