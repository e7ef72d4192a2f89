/** Bytes that uploads leave free: on a full disk PostgreSQL ends, whose data is usually on the same one. */
const reserve = 64 * 1024 * 1024
/** The free space is asked for again after this many bytes. */
const checkEvery = 4 * 1024 * 1024

/** The space of a disk for all uploads of a process together. */
export class DiskReserve {
  private granted = 0
  private readonly free: () => Promise<number>

  /** @param free the free bytes of the disk */
  constructor(free: () => Promise<number>) {
    this.free = free
  }

  /** Fails as a write to a full disk does, unless the disk has this much above the reserve. */
  async take(bytes: number): Promise<void> {
    if (this.granted < bytes) this.granted = Math.min(checkEvery + bytes, (await this.free()) - reserve)
    if (this.granted < bytes) throw Object.assign(new Error("The disk is nearly full"), { code: "ENOSPC" })
    this.granted -= bytes
  }
}
