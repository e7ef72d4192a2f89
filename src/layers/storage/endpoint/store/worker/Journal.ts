import type { DatabaseSync } from "node:sqlite"
import { changeOf } from "./Buckets.ts"
import type { IndexHistory } from "./History.ts"
import { changed, type IndexChange, type Tables } from "./Tables.ts"
import type { BlobPlaces } from "./Places.ts"
import { decodeKey, IndexError, type JournalRow, objectColumns, type IndexRowChange, objectRowOf } from "./Rows.ts"
import { versionColumns, versionOf } from "./Versions.ts"

/** The place of a walk over all rows, as text. */
type Cursor = readonly [table: "objects" | "versions", bucket: number, key: string, seq: number]

/** The index's operations for an archive: the journal, all rows, and the bytes of blobs. */
export const journalOperations = (
  database: DatabaseSync,
  tables: Tables,
  history: IndexHistory,
  places: BlobPlaces
) => {
  const after = database.prepare("SELECT * FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ?")
  const buckets = database.prepare("SELECT * FROM buckets ORDER BY id")
  const names = database.prepare("SELECT name FROM buckets WHERE id = ?")
  const objects = database.prepare(
    `SELECT bucket, key, ${objectColumns}, since FROM objects WHERE (bucket, key) > (?, ?) ORDER BY bucket, key LIMIT ?`
  )
  const versions = database.prepare(
    `SELECT bucket, key, ${versionColumns} FROM versions
     WHERE (bucket, key) >= (?1, ?2) AND NOT (bucket = ?1 AND key = ?2 AND seq >= ?3)
     ORDER BY bucket, key, seq DESC LIMIT ?4`
  )
  const file = database.prepare("SELECT 1 FROM files WHERE id = ?")

  const keyOf = (value: unknown) => {
    if (value instanceof Uint8Array) return value
    throw new Error("The index has a key that is not bytes")
  }

  const reads = {
    /** The changes after a sequence. `lost`: some of them are not in the journal any more, or never were. */
    changes: (sequence: number, limit: number) => {
      const changes = after.all(sequence, limit).map((row): JournalRow => ({
        sequence: Number(row["sequence"]),
        at: Number(row["at"]),
        bucket: String(row["bucket"]),
        change: JSON.parse(String(row["change"]))
      }))
      return {
        changes,
        blobs: places.of(changes),
        lost: !history.on || sequence < history.counter("dropped")
      }
    },

    /** The sequence of the last change. */
    position: (): number => history.counter("sequence"),

    /** A page of all rows, as changes; `cursor` is undefined at the start, `next` after the last page. */
    rows: (cursor: string | undefined, limit: number) => {
      const found: Array<{ readonly bucket: string; readonly change: IndexRowChange }> = []
      if (cursor === undefined) {
        for (const row of buckets.all()) {
          const bucket = String(row["name"])
          if (bucket !== history.except) found.push({ bucket, change: changeOf(row) })
        }
      }
      const [table, bucket, text, seq]: Cursor =
        cursor === undefined ? ["objects", -1, "", 0] : (JSON.parse(cursor) as Cursor)
      const key = Buffer.from(text, "base64")
      const isObjects = table === "objects"
      const page = isObjects ? objects.all(bucket, key, limit) : versions.all(bucket, key, seq, limit)
      for (const row of page) {
        const name = String(names.get(row["bucket"] ?? null)?.["name"])
        if (name === history.except) continue
        const key = decodeKey(keyOf(row["key"]))
        const since = row["since"]
        const object = typeof since === "number" ? { since } : {}
        const change: IndexRowChange = isObjects
          ? { kind: "object", ...objectRowOf(key, row), ...object }
          : { kind: "version", ...versionOf(key, row) }
        found.push({ bucket: name, change })
      }
      const last = page.at(-1)
      const rest: Cursor | undefined = isObjects ? ["versions", -1, "", 0] : undefined
      const next: Cursor | undefined =
        page.length < limit || last === undefined
          ? rest
          : [
              table,
              Number(last["bucket"]),
              Buffer.from(keyOf(last["key"])).toString("base64"),
              Number(last["seq"] ?? 0)
            ]
      return { rows: found, blobs: places.of(found), next: next && JSON.stringify(next) }
    },

    /** The bytes of a blob without a file; undefined for one with a file. Throws NoSuchKey. */
    blob: (id: string): Uint8Array | undefined => {
      if (id.startsWith("#")) return tables.smallBytes(id)
      if (file.get(id) === undefined) throw new IndexError("NoSuchKey", { Key: id })
      return undefined
    }
  }

  const writes = {
    /** Drops the changes up to a sequence, which an archive has. */
    confirm: (sequence: number): IndexChange<undefined> => {
      history.dropJournal(sequence)
      return changed(undefined)
    }
  }

  return { reads, writes }
}
