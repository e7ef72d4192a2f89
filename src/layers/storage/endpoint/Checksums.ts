import { Crc32cJs, Crc64NvmeJs } from "@aws-sdk/checksums/crc"
import { Xxh3_128Js, Xxh3_64Js, Xxh64Js } from "@aws-sdk/checksums/xxh"
import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import { s3Error } from "./Error.ts"
import { type Checksum } from "./store/Model.ts"

export type Algorithm = Checksum["algorithm"]

/** The lengths of the checksums in bytes. */
const lengths: Readonly<Record<Algorithm, number>> = {
  CRC32: 4,
  CRC32C: 4,
  CRC64NVME: 8,
  SHA1: 20,
  SHA256: 32,
  SHA512: 64,
  MD5: 16,
  XXHASH64: 8,
  XXHASH3: 8,
  XXHASH128: 16
}
export const algorithms = Object.keys(lengths) as ReadonlyArray<Algorithm>

export const checksumHeader = (algorithm: Algorithm) => `x-amz-checksum-${algorithm.toLowerCase()}`

export const parseAlgorithm = (text: string): Algorithm | undefined =>
  algorithms.find((algorithm) => algorithm === text.toUpperCase())

/** Whether the value is Base64 of the algorithm's number of bytes. */
export const isChecksum = (algorithm: Algorithm, value: string) => {
  const bytes = Buffer.from(value, "base64")
  return bytes.length === lengths[algorithm] && bytes.toString("base64") === value
}

interface LibraryHash {
  readonly update: (chunk: Uint8Array) => void
  readonly digest: () => Promise<Uint8Array>
}

/** The algorithms that Node does not have. */
const libraryHashes: Readonly<Partial<Record<Algorithm, new () => LibraryHash>>> = {
  CRC32C: Crc32cJs,
  CRC64NVME: Crc64NvmeJs,
  XXHASH64: Xxh64Js,
  XXHASH3: Xxh3_64Js,
  XXHASH128: Xxh3_128Js
}

export interface Hasher {
  readonly update: (chunk: Uint8Array) => void
  /** Base64; may be called once. */
  readonly value: () => Promise<string>
}

export const makeHasher = (algorithm: Algorithm): Hasher => {
  const LibraryHash = libraryHashes[algorithm]
  if (LibraryHash !== undefined) {
    const hash = new LibraryHash()
    return {
      update: (chunk) => hash.update(chunk),
      value: async () => Buffer.from(await hash.digest()).toString("base64")
    }
  }
  if (algorithm === "CRC32") {
    let crc = 0
    return {
      update: (chunk) => (crc = crc32(chunk, crc)),
      value: async () => {
        const bytes = Buffer.alloc(4)
        bytes.writeUInt32BE(crc)
        return bytes.toString("base64")
      }
    }
  }
  const hash = createHash(algorithm)
  return { update: (chunk) => hash.update(chunk), value: async () => hash.digest("base64") }
}

/** The checksum in the headers; at most one is allowed. Throws InvalidRequest. */
export const sentChecksum = (header: (name: string) => string | undefined) => {
  const sent = algorithms.filter((algorithm) => header(checksumHeader(algorithm)) !== undefined)
  const [algorithm] = sent
  if (algorithm === undefined) return undefined
  if (sent.length > 1) {
    throw s3Error(
      "InvalidRequest",
      "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
    )
  }
  return { algorithm, value: header(checksumHeader(algorithm)) ?? "" }
}

/** The algorithm of a header such as x-amz-checksum-algorithm. Throws InvalidRequest. */
export const namedAlgorithm = (text: string | undefined): Algorithm | undefined => {
  if (text === undefined) return undefined
  const algorithm = parseAlgorithm(text)
  if (algorithm === undefined) {
    throw s3Error(
      "InvalidRequest",
      `Checksum algorithm provided is unsupported. Please try again with any of the valid types: [${algorithms.join(", ")}]`
    )
  }
  return algorithm
}

/** The checksum of an object of parts, of the given type. */
export const checksumOfParts = (
  { algorithm, type }: Pick<Checksum, "algorithm" | "type">,
  parts: ReadonlyArray<{ readonly value: string; readonly size: number }>
): Promise<string> | string => {
  if (type === "FULL_OBJECT") return combine(algorithm, parts)
  const hasher = makeHasher(algorithm)
  for (const { value } of parts) hasher.update(Buffer.from(value, "base64"))
  return hasher.value().then((value) => `${value}-${parts.length}`)
}

const polynomials: Readonly<Partial<Record<Algorithm, bigint>>> = {
  CRC32: 0xedb88320n,
  CRC32C: 0x82f63b78n,
  CRC64NVME: 0x9a6c9329ac4bc9b5n
}

/** The CRC of concatenated parts from the CRC of each: crc(ab) = crc(a) · x^(8·|b|) + crc(b). */
const combine = (algorithm: Algorithm, parts: ReadonlyArray<{ readonly value: string; readonly size: number }>) => {
  const polynomial = polynomials[algorithm]
  if (polynomial === undefined)
    throw s3Error("InvalidRequest", `${algorithm} does not support the checksum type FULL_OBJECT`)
  const bits = BigInt(lengths[algorithm] * 8)
  const one = 1n << (bits - 1n)
  const multiply = (a: bigint, b: bigint) => {
    let product = 0n
    for (let bit = one; bit !== 0n; bit >>= 1n) {
      if (a & bit) product ^= b
      b = b & 1n ? (b >> 1n) ^ polynomial : b >> 1n
    }
    return product
  }
  // Most parts have the same size.
  const shifts = new Map<number, bigint>()
  const shift = (size: number) => {
    let known = shifts.get(size)
    if (known === undefined) {
      known = one
      let power = one >> 8n
      for (let left = size; left > 0; left = Math.floor(left / 2)) {
        if (left % 2 === 1) known = multiply(known, power)
        power = multiply(power, power)
      }
      shifts.set(size, known)
    }
    return known
  }
  let crc = 0n
  for (const { size, value } of parts) {
    crc = multiply(crc, shift(size)) ^ BigInt(`0x${Buffer.from(value, "base64").toString("hex")}`)
  }
  return Buffer.from(crc.toString(16).padStart(lengths[algorithm] * 2, "0"), "hex").toString("base64")
}
