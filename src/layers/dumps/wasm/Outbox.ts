import { at, chunkBytes, chunks, type DumpWasmShared } from "./Shared.ts"

const trailer = "-- PostgreSQL database dump complete\n"
const trailerWithin = 512

/** What pg_dump writes to, in its thread: blocks while what it wrote before is not compressed. */
export class DumpWasmOutbox {
  readonly #shared: DumpWasmShared
  readonly #post: (index: number, length: number) => void
  #posted = 0
  #used = 0
  #end = ""

  /** `post` hands a chunk over. */
  constructor(shared: DumpWasmShared, post: (index: number, length: number) => void) {
    this.#shared = shared
    this.#post = post
  }

  write(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const n = Math.min(bytes.length - from, chunkBytes - this.#used)
      this.#shared.chunks.set(bytes.subarray(from, from + n), this.#start + this.#used)
      this.#used += n
      from += n
      if (this.#used === chunkBytes) this.flush()
    }
  }

  /** Also what fills no chunk. */
  flush(): void {
    if (this.#used === 0) return
    const end = this.#shared.chunks.slice(this.#start, this.#start + this.#used).subarray(-trailerWithin)
    this.#end = (this.#end + Buffer.from(end).toString("latin1")).slice(-trailerWithin)
    this.#post(this.#posted % chunks, this.#used)
    this.#posted++
    this.#used = 0
    const { counters } = this.#shared
    for (let freed; this.#posted - (freed = Atomics.load(counters, at.freed)) >= chunks;) {
      Atomics.wait(counters, at.freed, freed)
    }
  }

  /** Whether pg_dump has said that this is all. */
  get isWhole(): boolean {
    return this.#end.includes(trailer)
  }

  get #start(): number {
    return (this.#posted % chunks) * chunkBytes
  }
}
