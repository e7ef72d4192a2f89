import { Effect, Schema } from "effect"
import {
  type ChangePiece,
  changesFolder,
  parseChangesName,
  parseRowsName,
  rowsFile,
  rowsFolder,
  type StoredRows
} from "../../../domain/recovery/Objects.ts"
import type { ImportedChange } from "../../storage/endpoint/store/worker/Import.ts"
import type { BlobPlace, IndexRowChange, JournalBlobs, JournalRow } from "../../storage/endpoint/store/worker/Rows.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"

const Rows = Schema.Struct({
  id: Schema.String,
  store: Schema.String,
  from: Schema.Int,
  to: Schema.Int,
  at: Schema.Int,
  pages: Schema.Int,
  packs: Schema.Array(Schema.String)
})
const decodeRows = Schema.decodeUnknownEffect(Schema.fromJsonString(Rows))

/** The complete rows in an archive, and the folders of those that are not. */
export const listRows = Effect.fnUntraced(function* (archive: Archive) {
  const names = yield* archive.list(rowsFolder)
  const found = new Map(
    names.flatMap((name) => {
      const parsed = parseRowsName(name)
      return parsed === undefined ? [] : [[`${parsed.store}/${parsed.id}`, parsed] as const]
    })
  )
  const all = new Set(names)
  const complete: Array<StoredRows> = []
  const incomplete: Array<string> = []
  for (const { id, store } of found.values()) {
    const file = rowsFile(store, id)
    if (!all.has(file)) {
      incomplete.push(...names.filter((name) => name.startsWith(`${rowsFolder}${store}/${id}/`)))
      continue
    }
    const text = (yield* archive.get(file)).toString("utf8")
    complete.push(yield* Effect.mapError(decodeRows(text), () => new ArchiveTrouble({ reason: `${file} is damaged` })))
  }
  return { complete, incomplete }
})

export const listPieces = (archive: Archive): Effect.Effect<ReadonlyArray<ChangePiece>, ArchiveTrouble> =>
  Effect.map(archive.list(changesFolder), (names) => names.flatMap((name) => parseChangesName(name) ?? []))

const segmentsOf = (change: IndexRowChange) =>
  change.kind === "object" || change.kind === "version" ? change.segments : []

/** A row or a change as a line of the archive. The places are those of the row's segments that have bytes. */
export const lineOf = (
  { bucket, change, ...when }: Pick<JournalRow, "bucket" | "change"> & Partial<Pick<JournalRow, "at" | "sequence">>,
  blobs: JournalBlobs,
  placeOf: (blob: string, blobs: JournalBlobs) => BlobPlace | undefined
) => {
  const places = segmentsOf(change).flatMap(([blob, size]) => {
    const place = placeOf(blob, blobs)
    return place === undefined || place.start === null ? [] : [{ blob, size, pack: place.pack, start: place.start }]
  })
  return { text: JSON.stringify({ ...when, bucket, change, places }), packs: places.map(({ pack }) => pack) }
}

/** Lines of the archive, which only this service has written: they are sealed. */
export const parseLines = (content: Buffer): ReadonlyArray<ImportedChange & { readonly at?: number }> =>
  content
    .toString("utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as ImportedChange & { readonly at?: number }]))
