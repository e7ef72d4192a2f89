import type { DatabaseSync } from "node:sqlite"
import { changed, type IndexChange } from "./Tables.ts"
import { encodeKey, type IndexRowChange, type PlacedBlob } from "./Rows.ts"

/** A change of an archive, with the places of its blobs there. */
export interface ImportedChange {
  readonly bucket: string
  readonly change: IndexRowChange
  readonly places: ReadonlyArray<PlacedBlob>
}

/** A blob whose file is there, or whose bytes are to be stored in the index. */
export interface ImportedBlob {
  readonly id: string
  readonly bytes: Uint8Array | undefined
}

/** The operations that make an index out of an archive. The index must be new, and without a history. */
export const importOperations = (database: DatabaseSync) => {
  const bucketId = database.prepare("SELECT id FROM buckets WHERE name = ?")
  const addBucket = database.prepare("INSERT OR IGNORE INTO buckets (name, created) VALUES (?, 0)")
  const setBucket = database.prepare(
    `UPDATE buckets SET created = ?, policy = ?, cors = ?, publicAccess = ?, lifecycle = ?, tagging = ?, versioning = ?
     WHERE id = ?`
  )
  const dropBucket = database.prepare("DELETE FROM buckets WHERE id = ?")
  const putObject = database.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const dropObject = database.prepare("DELETE FROM objects WHERE bucket = ? AND key = ?")
  const putVersion = database.prepare("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const dropVersion = database.prepare("DELETE FROM versions WHERE bucket = ? AND key = ? AND seq = ?")
  const addPlace = database.prepare("INSERT OR REPLACE INTO archived VALUES (?, ?, ?, ?)")
  const addFile = database.prepare("INSERT OR IGNORE INTO files VALUES (?)")
  const addSmall = database.prepare("INSERT OR REPLACE INTO small VALUES (?, ?)")
  const nextPlaces = database.prepare(
    `SELECT blob, pack, start, size FROM archived WHERE start IS NOT NULL AND (pack, start, blob) > (?, ?, ?)
     ORDER BY pack, start, blob LIMIT ?`
  )
  const unneeded = database.prepare(
    `DELETE FROM archived WHERE blob NOT IN (
       SELECT json_extract(value, '$[0]') FROM objects, json_each(objects.segments)
       UNION SELECT json_extract(value, '$[0]') FROM versions, json_each(versions.segments))`
  )
  const sizeOfPlaces = database.prepare("SELECT coalesce(sum(size), 0) AS size FROM archived WHERE start IS NOT NULL")
  const setSequence = database.prepare("UPDATE counters SET sequence = max(sequence, ?)")

  const idOf = (name: string) => {
    addBucket.run(name)
    return Number(bucketId.get(name)?.["id"])
  }

  const apply = ({ bucket: name, change, places }: ImportedChange) => {
    const bucket = idOf(name)
    for (const { blob, pack, size, start } of places) addPlace.run(blob, pack, start, size)
    if (change.kind === "object" || change.kind === "version") {
      // An empty blob has no place.
      for (const [blob, size] of change.segments) if (size === 0) addSmall.run(Number(blob.slice(1)), new Uint8Array())
    }
    switch (change.kind) {
      case "bucket": {
        const { cors, lifecycle, policy, publicAccess, tagging, versioning } = change.documents
        const documents = [policy, cors, publicAccess, lifecycle, tagging, versioning].map((text) => text ?? null)
        return setBucket.run(change.created, ...documents, bucket)
      }
      case "bucket removed":
        return dropBucket.run(bucket)
      case "object": {
        const { etag, key, meta, modified, segments, since, size, version } = change
        const text = JSON.stringify(segments)
        const its = [size, etag, modified, meta, text, version ?? null, since ?? null] as const
        return putObject.run(bucket, encodeKey(key), ...its)
      }
      case "object removed":
        return dropObject.run(bucket, encodeKey(change.key))
      case "version": {
        const { etag, key, marker, meta, modified, segments, seq, size, superseded, version } = change
        const flags = [marker ? 1 : 0, superseded ?? null] as const
        const text = JSON.stringify(segments)
        return putVersion.run(bucket, encodeKey(key), seq, version ?? null, size, etag, modified, meta, ...flags, text)
      }
      case "version removed":
        return dropVersion.run(bucket, encodeKey(change.key), change.seq)
    }
  }

  const reads = {
    /** Bytes of the blobs that have a place. */
    sizeOfPlaces: (): number => Number(sizeOfPlaces.get()?.["size"]),

    /** Places of blobs in the order of the packs, behind the last one of the page before. */
    placesAfter: (last: PlacedBlob | undefined, limit: number): ReadonlyArray<PlacedBlob> =>
      nextPlaces.all(last?.pack ?? "", last?.start ?? -1, last?.blob ?? "", limit).map((row) => ({
        blob: String(row["blob"]),
        pack: String(row["pack"]),
        start: Number(row["start"]),
        size: Number(row["size"])
      }))
  }

  const writes = {
    importChanges: (changes: ReadonlyArray<ImportedChange>): IndexChange<undefined> => {
      for (const change of changes) apply(change)
      return changed(undefined)
    },

    /** Ends the import of changes: forgets the places of blobs without an object. New changes get numbers behind `sequence`. */
    endChanges: (sequence: number): IndexChange<undefined> => {
      unneeded.run()
      setSequence.run(sequence)
      return changed(undefined)
    },

    importBlobs: (blobs: ReadonlyArray<ImportedBlob>): IndexChange<undefined> => {
      for (const { bytes, id } of blobs) {
        if (bytes === undefined) addFile.run(id)
        else addSmall.run(Number(id.slice(1)), bytes)
      }
      return changed(undefined)
    }
  }

  return { reads, writes }
}
