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
