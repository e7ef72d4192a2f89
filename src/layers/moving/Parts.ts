import { Schema } from "effect"
import { createHash, createSecretKey, type KeyObject, randomBytes, scrypt } from "node:crypto"
import { promisify } from "node:util"
import {
  bodySize,
  movingFormat,
  MovingHeader,
  movingMagic,
  type MovingManifest,
  MovingPart
} from "../../domain/moving/Archive.ts"
import { SealBroken, sealing, unsealing } from "../../domain/recovery/SealedStream.ts"

/** An archive can't be used; the message is for the operator. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused"
}

const refuse = (message: string) => new ArchiveRefused(message)

type Bytes = AsyncIterable<Uint8Array>

export interface WrittenPart {
  readonly head: MovingPart
  /** Exactly as many bytes as the head says. */
  readonly body?: Bytes | Uint8Array
}

const cost = 2 ** 17
const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

const archiveKey = async (passphrase: string, { cost, salt }: MovingHeader): Promise<KeyObject> => {
  // Keyboards write the same character as one or as several code points.
  const text = passphrase.normalize("NFKC")
  const N = cost
  return createSecretKey(await derive(text, Buffer.from(salt, "base64"), 32, { N, r: 8, p: 1, maxmem: 256 * N * 8 }))
}

const maxHead = 1 << 20

const headBytes = (head: MovingPart) => {
  const text = Buffer.from(JSON.stringify(head), "utf8")
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text])
}

/** Each part: the length of its head (4 bytes), the head in JSON, its body, and the body's SHA-256. */
async function* written(parts: AsyncIterable<WrittenPart>): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256")
  let [count, objects, bytes] = [0, 0, 0]
  for await (const { body = Buffer.alloc(0), head } of parts) {
    const start = headBytes(head)
    const own = createHash("sha256")
    let size = 0
    yield start
    for await (const piece of body instanceof Uint8Array ? [body] : body) {
      own.update(piece)
      size += piece.length
      yield piece
    }
    if (size !== bodySize(head))
      throw refuse(`A part has ${size} bytes in place of ${bodySize(head)}: ${describe(head)}`)
    const sum = own.digest()
    digest.update(start).update(sum)
    yield sum
    count++
    bytes += size
    if (head.part === "object") objects++
  }
  yield headBytes({ part: "manifest", parts: count, objects, bytes, digest: digest.digest("hex") })
}

const describe = (head: MovingPart) => (head.part === "object" ? `${head.bucket}/${head.key}` : head.part)

/** The bytes of an archive. */
export async function* archiveOf(passphrase: string, parts: AsyncIterable<WrittenPart>): AsyncGenerator<Uint8Array> {
  const header: MovingHeader = { format: movingFormat, kdf: "scrypt", salt: randomBytes(32).toString("base64"), cost }
  const line = `${movingMagic}${JSON.stringify(header)}\n`
  yield Buffer.from(line, "latin1")
  yield* sealing(await archiveKey(passphrase, header), line)(written(parts))
}

/** Reads exact numbers of bytes from chunks of any size. */
class Chunks {
  private held: Uint8Array = Buffer.alloc(0)
  private readonly source: AsyncIterator<Uint8Array>

  constructor(source: Bytes) {
    this.source = source[Symbol.asyncIterator]()
  }

  /** At most `limit` bytes; undefined at the end. */
  async some(limit: number): Promise<Uint8Array | undefined> {
    while (this.held.length === 0) {
      const { done, value } = await this.source.next()
      if (done === true) return undefined
      this.held = value
    }
    const piece = this.held.subarray(0, limit)
    this.held = this.held.subarray(piece.length)
    return piece
  }

  async exactly(size: number): Promise<Buffer> {
    const pieces: Array<Uint8Array> = []
    for (let left = size; left > 0;) {
      const piece = await this.some(left)
      if (piece === undefined) throw refuse("The archive ends within a part")
      pieces.push(piece)
      left -= piece.length
    }
    return Buffer.concat(pieces)
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    for (let piece = await this.some(1 << 20); piece !== undefined; piece = await this.some(1 << 20)) yield piece
  }

  async close() {
    await this.source.return?.()
  }
}

const noArchive = "It is no archive of npm run export, or its beginning is damaged"

const readHeader = async (chunks: Chunks) => {
  let line = (await chunks.exactly(movingMagic.length).catch(() => Buffer.alloc(0))).toString("latin1")
  if (line !== movingMagic) throw refuse(noArchive)
  while (!line.endsWith("\n")) {
    const next = await chunks.some(1)
    if (next === undefined || line.length > 1000) throw refuse(noArchive)
    line += Buffer.from(next).toString("latin1")
  }
  let json: unknown
  try {
    json = JSON.parse(line.slice(movingMagic.length))
  } catch {
    throw refuse(noArchive)
  }
  const format = (json as { readonly format?: unknown } | null)?.format
  if (typeof format === "number" && format > movingFormat) {
    throw refuse(
      `The archive has format ${format}, and this release reads formats up to ${movingFormat}: use a newer release`
    )
  }
  if (!Schema.is(MovingHeader)(json)) throw refuse(noArchive)
  return { line, header: json }
}

export interface ReadPart {
  readonly head: MovingPart
  /** The rest of the body that is not read is skipped. */
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * The parts of an archive up to the manifest, each verified when the next one is requested. Returns the manifest, after which
 * the archive is known to be complete.
 */
export async function* partsOf(passphrase: string, source: Bytes): AsyncGenerator<ReadPart, MovingManifest> {
  const outer = new Chunks(source)
  try {
    const { header, line } = await readHeader(outer)
    const chunks = new Chunks(unsealing(await archiveKey(passphrase, header), line)(outer.rest()))
    const digest = createHash("sha256")
    let [count, objects, bytes] = [0, 0, 0]
    for (;;) {
      const length = await chunks.exactly(4)
      if (length.readUInt32BE() > maxHead) throw refuse("The archive has a part whose head is too long")
      const text = await chunks.exactly(length.readUInt32BE())
      const head: unknown = JSON.parse(text.toString("utf8"))
      if (!Schema.is(MovingPart)(head)) throw refuse("The archive has a part that this release does not know")
      if (head.part === "manifest") {
        const expected = { part: "manifest", parts: count, objects, bytes, digest: digest.digest("hex") }
        if (JSON.stringify(head) !== JSON.stringify(expected)) throw refuse("The archive does not match its manifest")
        if ((await chunks.some(1)) !== undefined) throw refuse("The archive continues after its manifest")
        return head
      }
      const own = createHash("sha256")
      let left = bodySize(head)
      const reading = async function* () {
        while (left > 0) {
          const piece = await chunks.some(left)
          if (piece === undefined) throw refuse("The archive ends within a part")
          left -= piece.length
          own.update(piece)
          yield piece
        }
      }
      yield { head, body: reading() }
      // The reader may have stopped early.
      for await (const _ of reading());
      const sum = own.digest()
      if (!sum.equals(await chunks.exactly(32))) throw refuse(`A part does not have its digest: ${describe(head)}`)
      digest.update(length).update(text).update(sum)
      count++
      bytes += bodySize(head)
      if (head.part === "object") objects++
    }
  } catch (cause) {
    if (cause instanceof SealBroken) {
      throw refuse("The archive can't be decrypted: the passphrase is wrong, or the archive is damaged or incomplete")
    }
    throw cause
  } finally {
    await outer.close()
  }
}
