import { Clock, Effect } from "effect"
import { randomBytes } from "node:crypto"
import { ownPackBytes, parsePackName, rowsFile, rowsPage, type StoredRows } from "../../../domain/recovery/Objects.ts"
import { type StoreJournal } from "../../storage/endpoint/store/Model.ts"
import { type Archive } from "../store/Archive.ts"
import { batch, type ObjectFollower } from "./Follower.ts"
import { lineOf } from "./Files.ts"
import { type makePackWriter } from "./Packs.ts"

/** Bytes of rows in one object of the archive. */
const pageBytes = 4 * 1024 * 1024
/** Small packs before they are joined. */
const maxSmall = 64

/** Has the blobs of packs that are mostly unneeded archived again, and those of many small packs. */
const displaceSparse = Effect.fnUntraced(function* (journal: StoreJournal) {
  const all = (yield* journal.packs).flatMap(({ live, pack }) => {
    const name = parsePackName(pack)
    return name === undefined ? [] : [{ pack, live, size: name.size }]
  })
  const small = all.filter(({ size }) => size < ownPackBytes)
  const sparse = all.filter(({ live, size }) => live * 2 < size)
  const packs = new Set([...sparse, ...(small.length > maxSmall ? small : [])].map(({ pack }) => pack))
  if (packs.size > 0) yield* journal.displace([...packs])
})

/** Writes all rows of a store into the archive, while its changes are followed. */
export const archiveRows = Effect.fnUntraced(function* (
  archive: Archive,
  journal: StoreJournal,
  store: string,
  packs: ReturnType<typeof makePackWriter>,
  follower: ObjectFollower
) {
  yield* displaceSparse(journal)
  const from = follower.reached
  const began = yield* Clock.currentTimeMillis
  const id = `${new Date(began).toISOString().replaceAll(/[-:.]/g, "")}-${randomBytes(3).toString("hex")}`
  const named = new Set<string>()
  follower.named.clear()
  let [pages, size] = [0, 0]
  let lines: Array<string> = []
  const flush = Effect.suspend(() => {
    if (lines.length === 0) return Effect.void
    const content = Buffer.from(`${lines.join("\n")}\n`)
    lines = []
    size = 0
    return Effect.asVoid(archive.put(rowsPage(store, id, ++pages), content))
  })
  let cursor: string | undefined
  do {
    const page = yield* journal.rows(cursor, batch)
    for (const { change } of page.rows) {
      if (change.kind === "object" || change.kind === "version") yield* packs.add(change.segments, page.blobs, from)
    }
    yield* packs.flush(from)
    for (const row of page.rows) {
      const line = lineOf(row, page.blobs, packs.placeOf)
      lines.push(line.text)
      size += line.text.length
      for (const pack of line.packs) named.add(pack)
    }
    yield* packs.remember
    if (size >= pageBytes) yield* flush
    cursor = page.next
    yield* follower.step
  } while (cursor !== undefined)
  yield* flush
  const end = yield* journal.position
  const at = yield* Clock.currentTimeMillis
  while (yield* follower.step) {
    // Until the changes that the rows may have are in the archive.
  }
  const rows: StoredRows = {
    id,
    store,
    from,
    to: Math.max(end, follower.reached),
    at,
    pages,
    packs: [...new Set([...named, ...follower.named])]
  }
  yield* archive.put(rowsFile(store, id), Buffer.from(JSON.stringify(rows)))
  return rows
})
