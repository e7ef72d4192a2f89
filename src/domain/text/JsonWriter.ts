import { mustEscape } from "./JsonScanner.ts"

/** The escape of each byte that a text of JSON cannot contain. */
const escapes = Array.from({ length: 128 }, (_, code) =>
  Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1))
)
/** A shorter run of bytes is copied in a loop, which is quicker than a call. */
const shortRun = 32

/** Writes JSON as bytes that grow. */
export class JsonWriter {
  length = 0
  private bytes: Buffer

  /** `expected`: the number of bytes that need not grow. */
  constructor(expected: number) {
    this.bytes = Buffer.allocUnsafeSlow(expected)
  }

  /** The bytes from `from` on. */
  written(from = 0, to = this.length): Buffer {
    return this.bytes.subarray(from, to)
  }

  raw(bytes: Uint8Array) {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  byte(byte: number) {
    this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** Part of a text, without quotes: UTF-8 bytes `from` to `to` (exclusive). */
  text(source: Uint8Array, from: number, to: number) {
    let at = from
    while (at < to) {
      let end = at
      while (end < to && mustEscape[source[end] ?? 0] === 0) end++
      this.run(source, at, end)
      const escape = end < to ? escapes[source[end] ?? 0] : undefined
      if (escape !== undefined) this.raw(escape)
      at = end + 1
    }
  }

  private run(source: Uint8Array, from: number, to: number) {
    this.reserve(to - from)
    if (to - from > shortRun) this.bytes.set(source.subarray(from, to), this.length)
    else for (let at = from; at < to; at++) this.bytes[this.length + at - from] = source[at] ?? 0
    this.length += to - from
  }

  private reserve(more: number) {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }
}
