import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto"

/**
 * A stream of bytes, encrypted and authenticated in chunks (the STREAM construction of Hoang, Reyhanitabar, Rogaway and
 * Vizár, as age and Tink use it):
 *
 *     magic (8 bytes) | salt (32 bytes) | chunk | chunk | …
 *
 * Each chunk is AES-256-GCM of 1 MiB of plain text (the last one: of up to 1 MiB) followed by its tag of 16 bytes. Its
 * nonce is the number of the chunk (11 bytes, big-endian) and a byte that is 1 for the last chunk, and its additional
 * data is the place where the stream is stored. The key is derived from the caller's key and the salt, so nonces never
 * repeat under a key. So nothing can be cut off, appended, changed, reordered, or moved to another place or stream
 * without an error. Plain text is released chunk by chunk once it is verified, but only the normal end of the stream says that
 * it was whole: act on the content of a stream when the stream has ended.
 */
const magic = Buffer.from("SVCSEAL1", "latin1")
const saltLength = 32
const headLength = magic.length + saltLength
const tagLength = 16
const chunkLength = 1 << 20
const sealedChunkLength = chunkLength + tagLength

/** A sealed stream is damaged, cut, from another place, or sealed with another key. */
export class SealBroken extends Error {
  override readonly name = "SealBroken"
}

const broken = (place: string) =>
  new SealBroken(`${place} can't be decrypted: it is damaged or incomplete, or was encrypted with another key`)

const chunkKey = (key: KeyObject, salt: Buffer) => {
  if (key.symmetricKeySize !== 32) throw new TypeError("The key of a sealed stream must have 32 bytes")
  return Buffer.from(hkdfSync("sha256", key, salt, magic, 32))
}

const nonce = (index: number, last: boolean) => {
  const bytes = Buffer.alloc(12)
  bytes.writeUIntBE(index, 5, 6)
  bytes[11] = last ? 1 : 0
  return bytes
}

/** Both directions of one stream, whose head says the salt. */
const chunks = (key: KeyObject, salt: Buffer, place: string) => {
  const derived = chunkKey(key, salt)
  const aad = Buffer.from(place, "utf8")
  const options = { authTagLength: tagLength }
  let index = 0
  return {
    seal: (plain: Uint8Array, last: boolean): ReadonlyArray<Buffer> => {
      const cipher = createCipheriv("aes-256-gcm", derived, nonce(index++, last), options).setAAD(aad)
      const sealed = cipher.update(plain)
      cipher.final()
      return [sealed, cipher.getAuthTag()]
    },
    open: (sealed: Buffer, last: boolean): Buffer => {
      const length = sealed.length - tagLength
      // Only the chunk of an empty stream is empty.
      if (length < 0 || (length === 0 && index > 0)) throw broken(place)
      const decipher = createDecipheriv("aes-256-gcm", derived, nonce(index++, last), options).setAAD(aad)
      decipher.setAuthTag(sealed.subarray(length))
      const plain = decipher.update(sealed.subarray(0, length))
      try {
        decipher.final()
      } catch {
        throw broken(place)
      }
      return plain
    }
  }
}

/** Pieces of exactly `length` bytes, and the rest, which is the last one and empty only if all is; `[piece, last]`. */
async function* inPieces(
  source: AsyncIterable<Uint8Array>,
  length: number
): AsyncGenerator<readonly [Buffer, boolean]> {
  let piece = Buffer.allocUnsafe(length)
  let filled = 0
  for await (const bytes of source) {
    for (let from = 0; from < bytes.length;) {
      if (filled === length) {
        yield [piece, false]
        piece = Buffer.allocUnsafe(length)
        filled = 0
      }
      const part = bytes.subarray(from, from + length - filled)
      piece.set(part, filled)
      filled += part.length
      from += part.length
    }
  }
  yield [piece.subarray(0, filled), true]
}

/**
 * Encrypts a stream; fits `stream.pipeline` and `Readable.from`. Holds about two chunks in memory.
 *
 * @param key of 32 bytes
 * @param place says where the result belongs, such as a path in an archive; it opens only under the same name
 */
export const sealing = (key: KeyObject, place: string) =>
  async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
    const salt = randomBytes(saltLength)
    const { seal } = chunks(key, salt, place)
    yield Buffer.concat([magic, salt])
    for await (const [piece, last] of inPieces(source, chunkLength)) yield* seal(piece, last)
  }

/**
 * Decrypts what `sealing` returns. Yields verified pieces of up to 1 MiB, and throws SealBroken at the first that
 * is not as it was sealed, or if the end is missing.
 */
export const unsealing = (key: KeyObject, place: string) =>
  async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
    const iterator = source[Symbol.asyncIterator]()
    let start = Buffer.alloc(0)
    try {
      while (start.length < headLength) {
        const next = await iterator.next()
        if (next.done === true) throw broken(place)
        start = Buffer.concat([start, next.value])
      }
      if (!start.subarray(0, magic.length).equals(magic)) throw broken(place)
      const { open } = chunks(key, start.subarray(magic.length, headLength), place)
      const rest = start.subarray(headLength)
      for await (const [piece, last] of inPieces(continued(rest, iterator), sealedChunkLength)) {
        const plain = open(piece, last)
        if (plain.length > 0) yield plain
      }
    } finally {
      await iterator.return?.()
    }
  }

async function* continued(first: Buffer, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
}
