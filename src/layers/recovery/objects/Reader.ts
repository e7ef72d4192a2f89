import { Effect } from "effect"
import { packPart, packPartBytes } from "../../../domain/recovery/Objects.ts"
import type { PlacedBlob } from "../../storage/endpoint/store/worker/Rows.ts"
import { type Archive } from "../store/Archive.ts"

/** Reads parts of packs, and keeps the last one: blobs are read in the order of their packs. */
export const partReader = (archive: Archive) => {
  let last: { readonly name: string; readonly bytes: Buffer } | undefined
  return Effect.fnUntraced(function* (name: string) {
    if (last?.name === name) return last.bytes
    const bytes = yield* archive.get(name)
    last = { name, bytes }
    return bytes
  })
}

/** Reads the bytes of a blob from an archive, part by part; false if its pack has not all of them. */
export const readPlaced = Effect.fnUntraced(function* <E, E2>(
  { pack, size, start }: PlacedBlob,
  partOf: (name: string) => Effect.Effect<Buffer, E>,
  use: (bytes: Buffer) => Effect.Effect<void, E2>
) {
  for (let at = start ?? 0, left = size; left > 0;) {
    const part = yield* partOf(packPart(pack, Math.floor(at / packPartBytes) + 1))
    const from = at % packPartBytes
    const bytes = part.subarray(from, from + left)
    if (bytes.length === 0) return false
    yield* use(bytes)
    at += bytes.length
    left -= bytes.length
  }
  return true
})
