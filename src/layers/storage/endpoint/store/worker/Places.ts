import type { DatabaseSync } from "node:sqlite"
import { changed, type IndexChange, type Tables } from "./Tables.ts"
import type { BlobPlace, IndexRowChange, JournalBlobs, PlacedBlob } from "./Rows.ts"

/** Where blobs are in an archive, as the statements of a format of the index; `start` is null until all of it is there. */
export const placeTables = `
  CREATE TABLE archive (id TEXT NOT NULL, store TEXT NOT NULL);
  CREATE TABLE archived (blob TEXT PRIMARY KEY, pack TEXT NOT NULL, start INTEGER, size INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX archived_by_pack ON archived (pack, start);
`

/** The segments of a row that has bytes. */
const segmentsOf = (change: IndexRowChange) =>
  change.kind === "object" || change.kind === "version" ? change.segments : []

/** The index's operations on the places of blobs in an archive. A place is forgotten with its blob. */
export const makePlaces = (database: DatabaseSync, tables: Tables) => {
  const placeOf = database.prepare("SELECT pack, start FROM archived WHERE blob = ?")
  const add = database.prepare("INSERT OR REPLACE INTO archived VALUES (?, ?, ?, ?)")
  const live = database.prepare("SELECT pack, sum(size) AS size FROM archived WHERE start IS NOT NULL GROUP BY pack")
  const drop = database.prepare("DELETE FROM archived WHERE pack IN (SELECT value FROM json_each(?))")
  const archive = database.prepare("SELECT id, store FROM archive")
  const setArchive = database.prepare("INSERT INTO archive VALUES (?, ?)")

  const of = (changes: ReadonlyArray<{ readonly change: IndexRowChange }>): JournalBlobs => {
    const places = new Map<string, BlobPlace>()
    const small = new Map<string, Uint8Array>()
    for (const [blob] of changes.flatMap(({ change }) => segmentsOf(change))) {
      const row = placeOf.get(blob)
      if (row !== undefined) {
        places.set(blob, { pack: String(row["pack"]), start: row["start"] === null ? null : Number(row["start"]) })
      } else if (blob.startsWith("#")) {
        const bytes = tables.smallBytesIfThere(blob)
        if (bytes !== undefined) small.set(blob, bytes)
      }
    }
    return { places, small }
  }

  const reads = {
    /** The archive that the places are for, and the name of this index in it. */
    archive: (): { readonly id: string; readonly store: string } | undefined => {
      const row = archive.get()
      return row === undefined ? undefined : { id: String(row["id"]), store: String(row["store"]) }
    },

    /** Each pack with the bytes of it that are needed. */
    packs: (): ReadonlyArray<{ readonly pack: string; readonly live: number }> =>
      live.all().map((row) => ({ pack: String(row["pack"]), live: Number(row["size"]) }))
  }

  const writes = {
    /** Begins an archive that has no blob yet. */
    beginArchive: (id: string, store: string): IndexChange<undefined> => {
      database.exec("DELETE FROM archived; DELETE FROM archive")
      setArchive.run(id, store)
      return changed(undefined)
    },

    /** Records places of blobs that are still there. */
    place: (places: ReadonlyArray<PlacedBlob>): IndexChange<undefined> => {
      for (const { blob, pack, size, start } of places) {
        if (tables.hasBlob(blob)) add.run(blob, pack, start, size)
      }
      return changed(undefined)
    },

    /** Forgets all places in some packs, so that their blobs are archived again. */
    displace: (packs: ReadonlyArray<string>): IndexChange<undefined> => {
      drop.run(JSON.stringify(packs))
      return changed(undefined)
    }
  }

  return { of, reads, writes }
}

export type BlobPlaces = ReturnType<typeof makePlaces>
