export type Cbor = number | string | Buffer | boolean | null | ReadonlyArray<Cbor> | ReadonlyMap<Cbor, Cbor>

/** The CBOR of attestations (RFC 8949: definite lengths, no floats, no tags). Throws on anything else. */
export class CborReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Bytes read so far. */
  get at() {
    return this.#at
  }

  read(depth = 0): Cbor {
    if (depth > 8) throw new Error("CBOR: nested too deeply")
    const first = this.#take(1)[0]!
    const major = first >> 5
    const value = this.#argument(first & 0x1f)
    switch (major) {
      case 0:
        return value
      case 1:
        return -1 - value
      case 2:
        return this.#take(value)
      case 3:
        return this.#take(value).toString("utf8")
      case 4:
        return Array.from({ length: this.#fits(value) }, () => this.read(depth + 1))
      case 5:
        return new Map(Array.from({ length: this.#fits(value) }, () => [this.read(depth + 1), this.read(depth + 1)]))
      case 7:
        if (value === 20 || value === 21) return value === 21
        if (value === 22) return null
    }
    throw new Error("CBOR: unsupported type")
  }

  #argument(info: number) {
    if (info < 24) return info
    if (info === 24) return this.#take(1)[0]!
    if (info === 25) return this.#take(2).readUInt16BE()
    if (info === 26) return this.#take(4).readUInt32BE()
    throw new Error("CBOR: unsupported length")
  }

  /** Every element takes at least one byte. */
  #fits(count: number) {
    if (count > this.#bytes.length - this.#at) throw new Error("CBOR: too short")
    return count
  }

  #take(length: number) {
    if (this.#at + length > this.#bytes.length) throw new Error("CBOR: too short")
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}
