import { Schema } from "effect"
import { createHash } from "node:crypto"
import { bodySize, movingMagic, type MovingManifest, MovingPart } from "../../domain/moving/Archive.ts"
import { SealBroken, unsealing } from "../../domain/recovery/SealedStream.ts"
import { archiveKeyOf, ArchiveRefused, segmentPlace } from "./Key.ts"

const refuse = (message: string) => new ArchiveRefused(message)

type Bytes = AsyncIterable<Uint8Array>

const maxHead = 1 << 20

/** Each part: the length of its head (4 bytes), the head in JSON, its body, and the body's SHA-256. */
export const headBytes = (head: MovingPart) => {
  const text = Buffer.from(JSON.stringify(head), "utf8")
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text])
}

export const partName = (head: MovingPart) => (head.part === "object" ? `${head.bucket}/${head.key}` : head.part)

/** The digest over all parts up to one. It is a chain, so an interrupted export can continue it. */
export const partsDigest = (before: string, head: Uint8Array, sum: Uint8Array) =>
  createHash("sha256").update(before).update(head).update(sum).digest("hex")

const cut = "The archive is damaged or incomplete: it ends before its manifest"

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
      if (piece === undefined) throw refuse(cut)
      pieces.push(piece)
      left -= piece.length
    }
    return Buffer.concat(pieces)
  }

  /** The next `size` bytes, or fewer at the end. */
  async *part(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0;) {
      const piece = await this.some(left)
      if (piece === undefined) return
      left -= piece.length
      yield piece
    }
  }

  async close() {
    await this.source.return?.()
  }
}

const readLine = async (chunks: Chunks) => {
  let line = (await chunks.exactly(movingMagic.length).catch(() => Buffer.alloc(0))).toString("latin1")
  while (line.startsWith(movingMagic) && !line.endsWith("\n") && line.length < 1000) {
    const next = await chunks.some(1)
    if (next === undefined) break
    line += Buffer.from(next).toString("latin1")
  }
  return line
}

/** The plain text of an archive, segment by segment. */
async function* opened(passphrase: string, outer: Chunks): AsyncGenerator<Uint8Array> {
  const archive = await archiveKeyOf(passphrase, await readLine(outer))
  for (let index = 0; ; index++) {
    const first = await outer.some(1)
    if (first === undefined) return
    const length = Buffer.concat([first, await outer.exactly(3)]).readUInt32BE()
    try {
      yield* unsealing(archive.key, segmentPlace(archive, index))(outer.part(length))
    } catch (cause) {
      if (!(cause instanceof SealBroken)) throw cause
      throw refuse("The archive can't be decrypted: the passphrase is wrong, or the archive is damaged or incomplete")
    }
  }
}

export interface ReadPart {
  readonly head: MovingPart
  /** The rest of the body that is not read is skipped. */
  readonly body: AsyncIterable<Uint8Array>
}

const parsed = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString("utf8"))
  } catch {
    return undefined
  }
}

/**
 * The parts of an archive up to the manifest, each verified when the next one is requested. Returns the manifest, after which
 * the archive is known to be complete.
 */
export async function* partsOf(passphrase: string, source: Bytes): AsyncGenerator<ReadPart, MovingManifest> {
  const outer = new Chunks(source)
  try {
    const chunks = new Chunks(opened(passphrase, outer))
    let digest = ""
    let [count, objects, bytes] = [0, 0, 0]
    for (;;) {
      const length = await chunks.exactly(4)
      if (length.readUInt32BE() > maxHead) throw refuse("The archive has a part whose head is too long")
      const text = await chunks.exactly(length.readUInt32BE())
      const head = parsed(text)
      if (!Schema.is(MovingPart)(head)) throw refuse("The archive has a part that this release does not know")
      if (head.part === "manifest") {
        const expected = { part: "manifest", parts: count, objects, bytes, digest }
        if (JSON.stringify(head) !== JSON.stringify(expected)) throw refuse("The archive does not match its manifest")
        if ((await chunks.some(1)) !== undefined) throw refuse("The archive continues after its manifest")
        return head
      }
      const own = createHash("sha256")
      let left = bodySize(head)
      const reading = async function* () {
        while (left > 0) {
          const piece = await chunks.some(left)
          if (piece === undefined) throw refuse(cut)
          left -= piece.length
          own.update(piece)
          yield piece
        }
      }
      yield { head, body: reading() }
      // The reader may have stopped early.
      for await (const _ of reading());
      const sum = own.digest()
      if (!sum.equals(await chunks.exactly(32))) throw refuse(`A part does not have its digest: ${partName(head)}`)
      digest = partsDigest(digest, Buffer.concat([length, text]), sum)
      count++
      bytes += bodySize(head)
      if (head.part === "object") objects++
    }
  } finally {
    await outer.close()
  }
}
