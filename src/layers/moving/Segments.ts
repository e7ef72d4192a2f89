import { createHash, type Hash } from "node:crypto"
import { bodySize, type MovingPart, type MovingPosition } from "../../domain/moving/Archive.ts"
import { sealing } from "../../domain/recovery/SealedStream.ts"
import { type ArchiveKey, segmentPlace } from "./Key.ts"
import { headBytes, partName, partsDigest } from "./Parts.ts"

export interface WrittenPart {
  readonly head: MovingPart
  /** Exactly as many bytes as the head says. */
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array
}

/** The part in which the last segment of an interrupted export ended is not the same any more. */
export class PartChanged extends Error {
  override readonly name = "PartChanged"
}

/** A piece of an archive that can be stored alone, and the position at which the next one continues. */
export interface ArchiveSegment {
  readonly bytes: ReadonlyArray<Uint8Array>
  readonly position: MovingPosition
}

export const startPosition: MovingPosition = { parts: 0, objects: 0, bytes: 0, digest: "", after: null, open: null }

async function* pieces(bytes: ReadonlyArray<Uint8Array>) {
  yield* bytes
}

/**
 * The segments of an archive after a position. Each holds `size` bytes of plain text, and is sealed with a salt of its
 * own, so one that is written a second time, with other content, does not repeat a nonce.
 *
 * @param parts those after `position.after`; one that the position ends in is read again from its beginning, and compared
 */
export async function* segmentsOf(
  archive: ArchiveKey,
  parts: AsyncIterable<WrittenPart>,
  from: { readonly index: number; readonly position: MovingPosition },
  size: (index: number) => number
): AsyncGenerator<ArchiveSegment> {
  let { index, position } = from
  let resumed = position.open
  let [held, length]: [Array<Uint8Array>, number] = [[], 0]
  let current: { readonly head: MovingPart; readonly hash: Hash; offset: number }

  const seal = async (): Promise<ArchiveSegment> => {
    const sealed: Array<Uint8Array> = []
    for await (const piece of sealing(archive.key, segmentPlace(archive, index))(pieces(held))) sealed.push(piece)
    const frame = Buffer.alloc(4)
    frame.writeUInt32BE(sealed.reduce((sum, piece) => sum + piece.length, 0))
    const first = index === 0 ? [Buffer.from(archive.line, "latin1")] : []
    ;[held, length] = [[], 0]
    index++
    const { hash, head, offset } = current
    const open = { head, offset, digest: hash.copy().digest("hex") }
    return { bytes: [...first, frame, ...sealed], position: { ...position, open } }
  }

  const add = async function* (bytes: Uint8Array, hash?: Hash) {
    for (let rest = bytes; rest.length > 0;) {
      const piece = rest.subarray(0, resumed === null ? size(index) - length : resumed.offset - current.offset)
      rest = rest.subarray(piece.length)
      hash?.update(piece)
      current.offset += piece.length
      if (resumed !== null) {
        if (current.offset < resumed.offset) continue
        if (current.hash.copy().digest("hex") !== resumed.digest) throw new PartChanged(partName(current.head))
        resumed = null
        continue
      }
      held.push(piece)
      length += piece.length
      if (length === size(index)) yield await seal()
    }
  }

  const begin = (head: MovingPart) => {
    if (resumed !== null && JSON.stringify(resumed.head) !== JSON.stringify(head)) throw new PartChanged(partName(head))
    const hash = createHash("sha256")
    current = { head, hash, offset: 0 }
    return { hash, start: headBytes(head) }
  }

  for await (const { body = Buffer.alloc(0), head } of parts) {
    const { hash, start } = begin(head)
    yield* add(start)
    let written = 0
    for await (const piece of body instanceof Uint8Array ? [body] : body) {
      written += piece.length
      yield* add(piece, hash)
    }
    if (written !== bodySize(head)) {
      throw new Error(`A part has ${written} bytes in place of ${bodySize(head)}: ${partName(head)}`)
    }
    const sum = hash.copy().digest()
    yield* add(sum)
    if (resumed !== null) throw new PartChanged(partName(head))
    position = {
      parts: position.parts + 1,
      objects: position.objects + (head.part === "object" ? 1 : 0),
      bytes: position.bytes + written,
      digest: partsDigest(position.digest, start, sum),
      after: head,
      open: null
    }
  }
  const { bytes, digest, objects, parts: count } = position
  yield* add(begin({ part: "manifest", parts: count, objects, bytes, digest }).start)
  if (length > 0) yield await seal()
}
