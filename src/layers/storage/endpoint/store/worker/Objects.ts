import type { DatabaseSync } from "node:sqlite"
import type { S3Code } from "../../Error.ts"
import type { RemovalTarget, RemovedVersion, Tag, WriteCondition } from "../Model.ts"
import type { IndexHistory } from "./History.ts"
import { type BucketRef, type IndexChange, changed, checkCondition, type NewBlob, type Tables } from "./Tables.ts"
import { encodeKey, type ObjectRow, IndexError } from "./Rows.ts"
import { checkVersionId, type Moment, type Versions } from "./Versions.ts"

/** An object with the bytes of its segments without files. */
export interface WholeObject {
  readonly row: ObjectRow
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

/** Why an object is kept. */
interface RemovalRefusal {
  readonly code: S3Code
}

/** A version that is due by a lifecycle rule, as it was listed. */
interface DueVersion {
  readonly key: string
  readonly version: string
  readonly modified: number
}

/** The index's operations on objects. */
export const objectOperations = (database: DatabaseSync, tables: Tables, versions: Versions, history: IndexHistory) => {
  const fileById = database.prepare("SELECT 1 FROM files WHERE id = ?")
  const twoVersions = database.prepare("SELECT 1 FROM versions WHERE bucket = ? AND key = ? LIMIT 2")

  const moment = (now: number): Moment => ({ now, at: history.at(now) })

  const removeOne = (bucket: BucketRef, { condition, key, version }: RemovalTarget, when: Moment) => {
    const old = tables.findObject(bucket.id, key)
    if (version === undefined) {
      checkCondition(key, old, condition)
      return versions.hide(bucket, key, old, when)
    }
    checkVersionId(version)
    if (condition !== undefined) {
      const isCurrent = old !== undefined && (old.version ?? "null") === version
      const named = isCurrent ? old : versions.stored(bucket, key, version)
      // A delete marker has no ETag, size and time that could match.
      checkCondition(key, named !== undefined && "marker" in named && named.marker ? undefined : named, condition)
    }
    return versions.remove(bucket, key, version, old, when.at)
  }

  const reads = {
    head: (name: string, key: string, version: string | undefined): ObjectRow =>
      versions.find(tables.bucket(name), key, version),

    whole: (name: string, key: string, version: string | undefined): WholeObject =>
      tables.whole(versions.find(tables.bucket(name), key, version)),

    /** The given files that are not referenced. */
    unreferenced: (files: ReadonlyArray<string>): ReadonlyArray<string> =>
      files.filter((id) => fileById.get(id) === undefined)
  }

  const writes = {
    put: (
      name: string,
      key: string,
      blob: NewBlob,
      meta: string,
      condition: WriteCondition | undefined,
      now: number
    ): IndexChange<ObjectRow> => {
      const bucket = tables.bucket(name)
      const old = tables.findObject(bucket.id, key)
      checkCondition(key, old, condition)
      const { size, md5 } = blob
      const row = { key, size, etag: md5, modified: now, meta, segments: [[tables.keep(blob), size, md5] as const] }
      return versions.place(bucket, row, old, history.at(now))
    },

    setMeta: (
      name: string,
      key: string,
      meta: string,
      condition: WriteCondition | undefined,
      now: number
    ): IndexChange<ObjectRow> => {
      const bucket = tables.bucket(name)
      // A change of the metadata would be a new version, with bytes of its own.
      if (bucket.versioning !== undefined) throw new IndexError("OperationAborted")
      const old = versions.find(bucket, key, undefined)
      checkCondition(key, old, condition)
      const { since: _since, ...kept } = old
      const row = { ...kept, meta, modified: now }
      tables.putObject(bucket, row, old, history.at(now))
      return changed(row)
    },

    removeEach: (
      name: string,
      targets: ReadonlyArray<RemovalTarget>,
      now: number
    ): IndexChange<ReadonlyArray<RemovedVersion | RemovalRefusal>> => {
      const bucket = tables.bucket(name)
      const when = moment(now)
      const freed: Array<string> = []
      const results = targets.map((target) => {
        try {
          const removed = removeOne(bucket, target, when)
          freed.push(...removed.freed)
          return removed.value
        } catch (cause) {
          // Conditions and ids are checked before anything is changed.
          if (cause instanceof IndexError) return { code: cause.code }
          throw cause
        }
      })
      return changed(results, freed)
    },

    setTags: (
      name: string,
      key: string,
      version: string | undefined,
      tags: ReadonlyArray<Tag>,
      now: number
    ): IndexChange<ObjectRow> => {
      const bucket = tables.bucket(name)
      const old = versions.find(bucket, key, version)
      const meta = JSON.stringify({ ...JSON.parse(old.meta), tags: tags.length === 0 ? undefined : tags })
      const row = { ...old, meta }
      const past = version === undefined ? undefined : versions.stored(bucket, key, version)
      if (past === undefined) tables.putObject(bucket, row, old, history.at(now))
      else versions.put(bucket, { ...past, meta }, history.at(now))
      return changed(row)
    },

    /** Removes the objects that still have this ETag and time; returns how many. */
    expire: (
      name: string,
      objects: ReadonlyArray<Pick<ObjectRow, "key" | "etag" | "modified">>,
      now: number
    ): IndexChange<number> => {
      const bucket = tables.bucket(name)
      const freed: Array<string> = []
      let count = 0
      for (const { etag, key, modified } of objects) {
        const old = tables.findObject(bucket.id, key)
        if (old === undefined || old.etag !== etag || old.modified !== modified) continue
        freed.push(...versions.hide(bucket, key, old, moment(now)).freed)
        count += 1
      }
      return changed(count, freed)
    },

    /** Removes versions that are still older ones, and delete markers that are still the only version; returns how many. */
    expireVersions: (name: string, due: ReadonlyArray<DueVersion>, now: number): IndexChange<number> => {
      const bucket = tables.bucket(name)
      const freed: Array<string> = []
      let count = 0
      for (const { key, modified, version } of due) {
        const row = versions.stored(bucket, key, version)
        if (row === undefined || row.modified !== modified) continue
        if (row.superseded === undefined && twoVersions.all(bucket.id, encodeKey(key)).length > 1) continue
        freed.push(...versions.remove(bucket, key, version, undefined, history.at(now)).freed)
        count += 1
      }
      return changed(count, freed)
    },

    remove: (
      name: string,
      targets: ReadonlyArray<RemovalTarget>,
      now: number
    ): IndexChange<ReadonlyArray<RemovedVersion>> => {
      const bucket = tables.bucket(name)
      const all = targets.map((target) => removeOne(bucket, target, moment(now)))
      return changed(
        all.map(({ value }) => value),
        all.flatMap(({ freed }) => freed)
      )
    }
  }

  return { reads, writes }
}
