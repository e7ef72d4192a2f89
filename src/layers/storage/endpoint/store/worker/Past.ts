import type { DatabaseSync } from "node:sqlite"
import type { WholeObject } from "./Objects.ts"
import { changed, type IndexChange, type Tables } from "./Tables.ts"
import { encodeKey, IndexError, objectColumns, objectRowOf } from "./Rows.ts"
import type { IndexHistory } from "./History.ts"

/** The history as an operator sees it. */
export interface HistoryState {
  /** Objects can be read as of this time and later ones, in ms; undefined if no history is kept. */
  readonly earliest: number | undefined
  /** Bytes of the blobs that only the history needs. */
  readonly bytes: number
}

/** The index's operations on what the store showed at earlier times. */
export const pastOperations = (database: DatabaseSync, tables: Tables, history: IndexHistory) => {
  const liveBucket = database.prepare("SELECT id FROM buckets WHERE name = ? AND created <= ?")
  const oldBucket = database.prepare("SELECT id FROM old_buckets WHERE name = ? AND created <= ? AND removed > ?")
  const bucketsThen = database.prepare(
    `SELECT name, created FROM buckets WHERE created <= ?1
     UNION ALL SELECT name, created FROM old_buckets WHERE created <= ?1 AND removed > ?1 ORDER BY name`
  )
  const next = database.prepare(
    `SELECT ${objectColumns}, since FROM history WHERE bucket = ? AND key = ? AND until > ? ORDER BY until LIMIT 1`
  )
  const dueRows = database.prepare("SELECT bucket, key, until FROM history WHERE until <= ? ORDER BY until LIMIT ?")
  const dropRow = database.prepare("DELETE FROM history WHERE bucket = ? AND key = ? AND until = ?")
  const dueBlobs = database.prepare(
    "SELECT number, blob FROM (SELECT * FROM held ORDER BY number LIMIT ?) WHERE at <= ?"
  )
  const dropHeld = database.prepare("DELETE FROM held WHERE number <= ?")
  const dropBuckets = database.prepare("DELETE FROM old_buckets WHERE removed <= ?")
  const kept = database.prepare("SELECT kept FROM counters")
  const setKept = database.prepare("UPDATE counters SET kept = ?")
  const setForgotten = database.prepare("UPDATE counters SET forgotten = max(forgotten, ?)")

  const state = (): HistoryState => {
    const begun = history.counter("begun")
    const earliest = history.on ? Math.max(begun, history.counter("forgotten")) : undefined
    return { earliest, bytes: history.counter("bytes") }
  }

  const checkKept = (at: number) => {
    const { earliest } = state()
    if (earliest === undefined) throw new IndexError("ObjectsNotKept", {})
    if (at < earliest) throw new IndexError("ObjectsNotKept", { Earliest: new Date(earliest).toISOString() })
  }

  /** The bucket that had this name then. Throws NoSuchBucket, and ObjectsNotKept for times without a history. */
  const bucketAt = (name: string, at: number): number => {
    checkKept(at)
    const row = liveBucket.get(name, at) ?? oldBucket.get(name, at, at)
    if (row === undefined) throw new IndexError("NoSuchBucket", { BucketName: name })
    return Number(row["id"])
  }

  const reads = {
    historyState: state,

    bucketsAt: (at: number): ReadonlyArray<{ readonly name: string; readonly created: number }> => {
      checkKept(at)
      return bucketsThen.all(at).map((row) => ({ name: String(row["name"]), created: Number(row["created"]) }))
    },

    /** An object as it was at a time, in ms. Throws NoSuchKey. */
    wholeAt: (name: string, key: string, at: number): WholeObject => {
      const bucket = bucketAt(name, at)
      // The rows of a key follow each other in time, and the current object comes after the last one.
      const past = next.get(bucket, encodeKey(key), at)
      const row = past === undefined ? tables.findObject(bucket, key) : objectRowOf(key, past)
      const since = past === undefined ? (row?.since ?? row?.modified) : Number(past["since"])
      if (row === undefined || since === undefined || since > at) throw new IndexError("NoSuchKey", { Key: key })
      return tables.whole(row)
    }
  }

  const writes = {
    /** Keeps what was there at a time, in ms, and since then, until this is called again; undefined keeps no more. */
    keepFrom: (at: number | undefined): IndexChange<undefined> => {
      setKept.run(at ?? null)
      return changed(undefined)
    },

    /**
     * Forgets what ended before a time, in ms, and releases at most `limit` blobs. `more`: whether to repeat it. The rows go
     * before the blobs.
     */
    forget: (time: number, limit: number): IndexChange<{ readonly more: boolean }> => {
      const before = Math.min(time, Number(kept.get()?.["kept"] ?? time))
      // Without a history, there is mostly nothing to forget, and a transaction that writes nothing needs no sync.
      if (history.on) setForgotten.run(before)
      dropBuckets.run(before)
      const more = history.trim(before, limit)
      const rows = dueRows.all(before, limit)
      for (const row of rows) dropRow.run(row["bucket"] ?? null, row["key"] ?? null, row["until"] ?? null)
      if (rows.length === limit) return changed({ more: true })
      const blobs = dueBlobs.all(limit, before)
      const freed = tables.release(blobs.map((row) => String(row["blob"])))
      dropHeld.run(Number(blobs.at(-1)?.["number"] ?? -1))
      return changed({ more: more || blobs.length === limit }, freed)
    }
  }

  return { reads, writes, bucketAt }
}

export type Past = ReturnType<typeof pastOperations>
