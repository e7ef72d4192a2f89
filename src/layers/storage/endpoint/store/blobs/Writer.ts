import { type FileHandle } from "node:fs/promises"
import { type BlobFiles } from "./Files.ts"
import { type BlobHash } from "./Hash.ts"

/** After this many bytes a sync is started while more come in, so that the last one is short. */
const syncEvery = 64 * 1024 * 1024

/** A file of bytes in the making: written in slots, hashed on the way, synced and named at the end. */
export class BlobWriter {
  readonly id: string
  private readonly files: BlobFiles
  private readonly slots: BlobSlots
  private readonly hash: BlobHash
  private handle: FileHandle | undefined
  private position = 0
  private unsynced = 0
  private syncing: Promise<void> | undefined
  private digest: Promise<string> | undefined

  constructor(id: string, files: BlobFiles, slots: BlobSlots, hash: BlobHash) {
    this.id = id
    this.files = files
    this.slots = slots
    this.hash = hash
  }

  /** Appends; one call at a time. */
  async write(chunks: ReadonlyArray<Uint8Array>) {
    this.handle ??= await this.files.create(this.id)
    const slot = await this.slots.take()
    try {
      let filled = 0
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length;) {
          const taken = Math.min(slotSize - filled, chunk.length - at)
          slot.set(chunk.subarray(at, at + taken), filled)
          filled += taken
          at += taken
          if (filled < slotSize) continue
          await this.flush(this.handle, slot)
          filled = 0
        }
      }
      if (filled > 0) await this.flush(this.handle, slot.subarray(0, filled))
    } finally {
      this.slots.give(slot)
    }
  }

  /** The MD5 once everything is on disk under its name. */
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

  /** Ends it at any point; the file is for the caller to delete. */
  async abandon() {
    this.digest ??= this.hash.digest()
    await this.digest.catch(() => undefined)
    await this.syncing?.catch(() => undefined)
    await this.close().catch(() => undefined)
  }

  private async flush(handle: FileHandle, bytes: Uint8Array) {
    const hashed = this.hash.update(bytes)
    try {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, this.position)
        at += bytesWritten
        this.position += bytesWritten
      }
    } finally {
      await hashed // the slot is free for others only then
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

/** Bytes of one slot. */
export const slotSize = 256 * 1024

/** Slots at most: 4 MiB of memory for all uploads together. */
const slots = 16

/**
 * Buffers in memory that threads share, each lent for one write. Nobody may wait for a client while holding one, or
 * slow clients would stop the fast ones.
 */
export class BlobSlots {
  private readonly free: Array<Uint8Array> = []
  private readonly waiting: Array<(slot: Uint8Array) => void> = []
  private made = 0

  take(): Promise<Uint8Array> {
    const slot = this.free.pop()
    if (slot !== undefined) return Promise.resolve(slot)
    if (this.made < slots) {
      this.made++
      return Promise.resolve(new Uint8Array(new SharedArrayBuffer(slotSize)))
    }
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  give(slot: Uint8Array): void {
    const waiting = this.waiting.shift()
    if (waiting !== undefined) waiting(slot)
    else this.free.push(slot)
  }
}
