import { at, chunkBytes, chunks, type DumpWasmShared } from "./Shared.ts"

const trailer = "-- PostgreSQL database dump complete\n"
const trailerWithin = 512

/** The output of pg_dump, in its thread. Writing blocks while earlier chunks wait for compression. */
export class DumpWasmOutbox {
  readonly #shared: DumpWasmShared
  readonly #post: (index: number, length: number) => void
  #posted = 0
  #used = 0
  #end = ""

  /** `post` passes a chunk on. */
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

  /** Passes on an incomplete chunk too. */
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

  /** Whether the output ends with pg_dump's trailer. */
  get isComplete(): boolean {
    return this.#end.includes(trailer)
  }

  get #start(): number {
    return (this.#posted % chunks) * chunkBytes
  }
}
