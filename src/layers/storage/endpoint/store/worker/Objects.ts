import type { DatabaseSync } from "node:sqlite"
import type { S3Code } from "../../Error.ts"
import type { WriteCondition, Tag } from "../Model.ts"
import {
  blobsOf,
  type IndexChange,
  changed,
  encodeKey,
  checkCondition,
  type NewBlob,
  type ObjectRow,
  IndexError,
  type Tables
} from "./Tables.ts"

/** An object with the bytes of its segments without files. */
export interface WholeObject {
  readonly row: ObjectRow
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

/** The index's operations on objects. */
export const objectOperations = (database: DatabaseSync, tables: Tables) => {
  const drop = database.prepare("DELETE FROM objects WHERE bucket = ? AND key = ?")
  const fileById = database.prepare("SELECT 1 FROM files WHERE id = ?")

  const existing = (bucket: number, key: string): ObjectRow => {
    const row = tables.findObject(bucket, key)
    if (row === undefined) throw new IndexError("NoSuchKey", { Key: key })
    return row
  }

  const reads = {
    head: (bucket: string, key: string): ObjectRow => existing(tables.bucketId(bucket), key),

    whole: (bucket: string, key: string): WholeObject => {
      const row = existing(tables.bucketId(bucket), key)
      const small = blobsOf(row).filter((blob) => blob.startsWith("#"))
      return { row, bytes: new Map(small.map((blob) => [blob, tables.smallBytes(blob)])) }
    },

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
      const bucket = tables.bucketId(name)
      const old = tables.findObject(bucket, key)
      checkCondition(key, old, condition)
      const { size, md5 } = blob
      const row = { key, size, etag: md5, modified: now, meta, segments: [[tables.keep(blob), size, md5] as const] }
      tables.putObject(bucket, row)
      return changed(row, tables.release(blobsOf(old)))
    },

    setMeta: (
      name: string,
      key: string,
      meta: string,
      condition: WriteCondition | undefined,
      now: number
    ): IndexChange<ObjectRow> => {
      const bucket = tables.bucketId(name)
      const old = existing(bucket, key)
      checkCondition(key, old, condition)
      const row = { ...old, meta, modified: now }
      tables.putObject(bucket, row)
      return changed(row)
    },

    removeEach: (
      name: string,
      targets: ReadonlyArray<{ readonly key: string; readonly condition: WriteCondition | undefined }>
    ): IndexChange<ReadonlyArray<S3Code | undefined>> => {
      const bucket = tables.bucketId(name)
      const freed: Array<string> = []
      const codes = targets.map(({ condition, key }) => {
        const old = tables.findObject(bucket, key)
        try {
          checkCondition(key, old, condition)
        } catch (cause) {
          if (cause instanceof IndexError) return cause.code
          throw cause
        }
        if (old === undefined) return undefined
        drop.run(bucket, encodeKey(key))
        freed.push(...tables.release(blobsOf(old)))
        return undefined
      })
      return changed(codes, freed)
    },

    setTags: (name: string, key: string, tags: ReadonlyArray<Tag>): IndexChange<undefined> => {
      const bucket = tables.bucketId(name)
      const old = existing(bucket, key)
      const meta = JSON.stringify({ ...JSON.parse(old.meta), tags: tags.length === 0 ? undefined : tags })
      tables.putObject(bucket, { ...old, meta })
      return changed(undefined)
    },

    /** Removes the objects that still have this ETag and time; returns how many. */
    expire: (
      name: string,
      objects: ReadonlyArray<Pick<ObjectRow, "key" | "etag" | "modified">>
    ): IndexChange<number> => {
      const bucket = tables.bucketId(name)
      const freed: Array<string> = []
      let count = 0
      for (const { etag, key, modified } of objects) {
        const old = tables.findObject(bucket, key)
        if (old === undefined || old.etag !== etag || old.modified !== modified) continue
        drop.run(bucket, encodeKey(key))
        freed.push(...tables.release(blobsOf(old)))
        count += 1
      }
      return changed(count, freed)
    },

    remove: (
      name: string,
      keys: ReadonlyArray<string>,
      condition: WriteCondition | undefined
    ): IndexChange<undefined> => {
      const bucket = tables.bucketId(name)
      const freed: Array<string> = []
      for (const key of keys) {
        const old = tables.findObject(bucket, key)
        checkCondition(key, old, condition)
        if (old === undefined) continue
        drop.run(bucket, encodeKey(key))
        freed.push(...tables.release(blobsOf(old)))
      }
      return changed(undefined, freed)
    }
  }

  return { reads, writes }
}
