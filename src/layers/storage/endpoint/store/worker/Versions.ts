import { randomBytes } from "node:crypto"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import type { RemovedVersion } from "../Model.ts"
import type { IndexHistory } from "./History.ts"
import { type BucketRef, changed, type IndexChange, type Tables } from "./Tables.ts"
import { encodeKey, IndexError, objectColumns, type ObjectRow, objectRowOf, type VersionRow } from "./Rows.ts"

/** Hex digits of a version's number at the start of its id. */
const digits = 14

const isVersionId = (version: string) => /^[0-9a-f]{32}$/.test(version)

/** The number of the version with this id, by which the versions of a key are sorted. */
export const seqOf = (version: string): number => Number.parseInt(version.slice(0, digits), 16)

/** A number that no other version has, and random digits, so that an index that was restored makes other ids. */
const newVersionId = (seq: number) => seq.toString(16).padStart(digits, "0") + randomBytes(9).toString("hex")

export const versionColumns = `${objectColumns}, seq, marker, superseded`

export const versionOf = (key: string, row: Readonly<Record<string, SQLOutputValue>>): VersionRow => ({
  ...objectRowOf(key, row),
  seq: Number(row["seq"]),
  marker: row["marker"] === 1,
  superseded: row["superseded"] === null ? undefined : Number(row["superseded"])
})

/** The headers by which S3 reports a delete marker. */
const markerHeaders = (version: string | undefined): Readonly<Record<string, string>> => ({
  "x-amz-delete-marker": "true",
  "x-amz-version-id": version ?? "null"
})

/**
 * The versions of objects. The current object of a key is in the table `objects`, its older versions and delete markers
 * are in `versions`. If a delete marker is the latest version, the key has no current object.
 */
export const makeVersions = (database: DatabaseSync, tables: Tables, history: IndexHistory) => {
  const ofKey = `SELECT ${versionColumns} FROM versions WHERE bucket = ? AND key = ?`
  const byNumber = database.prepare(`${ofKey} AND seq = ?`)
  const ofNull = database.prepare(`${ofKey} AND version IS NULL`)
  const newest = database.prepare(`${ofKey} ORDER BY seq DESC LIMIT 1`)
  const addRow = database.prepare("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const dropRow = database.prepare("DELETE FROM versions WHERE bucket = ? AND key = ? AND seq = ?")

  const rowFrom = (key: string, row: Readonly<Record<string, SQLOutputValue>> | undefined) =>
    row === undefined ? undefined : versionOf(key, row)

  const latest = ({ id }: BucketRef, key: string) => rowFrom(key, newest.get(id, encodeKey(key)))

  /** The stored version with this id, which is not the current object. */
  const stored = ({ id }: Pick<BucketRef, "id">, key: string, version: string): VersionRow | undefined => {
    if (version === "null") return rowFrom(key, ofNull.get(id, encodeKey(key)))
    const found = rowFrom(key, byNumber.get(id, encodeKey(key), seqOf(version)))
    return found?.version === version ? found : undefined
  }

  /** Adds a version, or replaces the one with its number. */
  const put = ({ id, name }: BucketRef, row: VersionRow, at: number) => {
    const { etag, key, marker, meta, modified, segments, seq, size, superseded, version } = row
    const text = JSON.stringify(segments)
    const flags = [marker ? 1 : 0, superseded ?? null] as const
    addRow.run(id, encodeKey(key), seq, version ?? null, size, etag, modified, meta, ...flags, text)
    if (history.keeps(name)) history.record(name, { kind: "version", ...row }, at)
  }

  const drop = ({ id, name }: BucketRef, { key, seq }: VersionRow, at: number) => {
    dropRow.run(id, encodeKey(key), seq)
    if (history.keeps(name)) history.record(name, { kind: "version removed", key, seq }, at)
  }

  /** Makes the newest of the older versions the latest one. */
  const promote = (bucket: BucketRef, key: string, at: number) => {
    const row = latest(bucket, key)
    if (row === undefined) return
    if (row.marker) return put(bucket, { ...row, superseded: undefined }, at)
    drop(bucket, row, at)
    const { marker: _marker, seq: _seq, superseded: _superseded, ...object } = row
    tables.putObject(bucket, object, undefined, at)
  }

  /**
   * Makes way for a new latest version of a bucket with versioning; returns the freed files. `old` is the current object,
   * which the caller replaces. A new null version, which buckets with suspended versioning get, replaces the one before.
   */
  const supersede = (bucket: BucketRef, key: string, old: ObjectRow | undefined, at: number): ReadonlyArray<string> => {
    const suspended = bucket.versioning === "Suspended"
    if (suspended && old !== undefined && old.version === undefined) return tables.retire(bucket, old.segments, at)
    if (old !== undefined) {
      const seq = old.version === undefined ? history.sequence() : seqOf(old.version)
      const { since: _since, ...object } = old
      put(bucket, { ...object, seq, marker: false, superseded: at }, at)
    } else {
      const marker = latest(bucket, key)
      if (marker !== undefined) put(bucket, { ...marker, superseded: at }, at)
    }
    const before = suspended ? stored(bucket, key, "null") : undefined
    if (before === undefined) return []
    drop(bucket, before, at)
    return tables.retire(bucket, before.segments, at)
  }

  return {
    stored,
    put,

    /** The version with this id, or the current one. Throws NoSuchKey, NoSuchVersion, and errors for delete markers. */
    find: (bucket: BucketRef, key: string, version: string | undefined): ObjectRow => {
      const current = tables.findObject(bucket.id, key)
      if (version === undefined) {
        if (current !== undefined) return current
        const marker = bucket.versioning === undefined ? undefined : latest(bucket, key)
        throw new IndexError("NoSuchKey", { Key: key }, marker && markerHeaders(marker.version))
      }
      checkVersionId(version)
      if (current !== undefined && (current.version ?? "null") === version) return current
      const found = stored(bucket, key, version)
      if (found?.marker === true) {
        const at = new Date(found.modified).toUTCString()
        throw new IndexError(
          "MethodNotAllowed",
          { Method: "GET", ResourceType: "DeleteMarker" },
          { ...markerHeaders(found.version), Allow: "DELETE", "Last-Modified": at }
        )
      }
      if (found !== undefined) return found
      if (bucket.versioning === undefined) throw new IndexError("NoSuchKey", { Key: key })
      throw new IndexError("NoSuchVersion", { Key: key, VersionId: version })
    },

    /** Makes a new row the current object; returns it with its version. `old` is the current object. */
    place: (bucket: BucketRef, row: ObjectRow, old: ObjectRow | undefined, at: number): IndexChange<ObjectRow> => {
      if (bucket.versioning === undefined) {
        tables.putObject(bucket, row, old, at)
        return changed(row, old === undefined ? [] : tables.retire(bucket, old.segments, at))
      }
      const freed = supersede(bucket, row.key, old, at)
      const version = bucket.versioning === "Enabled" ? newVersionId(history.sequence()) : undefined
      const placed = { ...row, version }
      tables.putObject(bucket, placed, old, at)
      return changed(placed, freed)
    },

    /** Removes the current object, or in a bucket with versioning adds a delete marker. */
    hide: (
      bucket: BucketRef,
      key: string,
      old: ObjectRow | undefined,
      { at, now }: Moment
    ): IndexChange<RemovedVersion> => {
      if (bucket.versioning === undefined) {
        if (old === undefined) return changed({})
        tables.removeObject(bucket, old, at)
        return changed({}, tables.retire(bucket, old.segments, at))
      }
      const freed = supersede(bucket, key, old, at)
      if (old !== undefined) tables.removeObject(bucket, old, at)
      const seq = history.sequence()
      const version = bucket.versioning === "Enabled" ? newVersionId(seq) : undefined
      const marker = { marker: true, seq, superseded: undefined, version, modified: now }
      put(bucket, { ...marker, key, size: 0, etag: "", meta: "{}", segments: [] }, at)
      return changed({ version: version ?? "null", marker: true, made: true }, freed)
    },

    /** Deletes one version for good, whether it is the current one or not. The caller has checked its id. */
    remove: (
      bucket: BucketRef,
      key: string,
      version: string,
      old: ObjectRow | undefined,
      at: number
    ): IndexChange<RemovedVersion> => {
      if (old !== undefined && (old.version ?? "null") === version) {
        tables.removeObject(bucket, old, at)
        if (bucket.versioning !== undefined) promote(bucket, key, at)
        return changed({ version }, tables.retire(bucket, old.segments, at))
      }
      const row = stored(bucket, key, version)
      if (row === undefined) return changed({ version })
      drop(bucket, row, at)
      if (row.superseded === undefined) promote(bucket, key, at)
      return changed({ version, marker: row.marker }, tables.retire(bucket, row.segments, at))
    }
  }
}

export type Versions = ReturnType<typeof makeVersions>

/** `now`: the time of the clock; `at`: the time of the change in the history. */
export interface Moment {
  readonly now: number
  readonly at: number
}

/** Throws InvalidArgument for text that can't be a version's id. */
export const checkVersionId = (version: string, argument = "versionId") => {
  if (version === "null" || isVersionId(version)) return
  throw new IndexError("InvalidArgument", { ArgumentName: argument, ArgumentValue: version.slice(0, 200) })
}
