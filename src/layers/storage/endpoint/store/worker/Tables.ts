import type { DatabaseSync } from "node:sqlite"
import type { BucketVersioning, WriteCondition } from "../Model.ts"
import type { IndexHistory } from "./History.ts"
import { blobsOf, encodeKey, IndexError, objectColumns, type ObjectRow, objectRowOf, type Segment } from "./Rows.ts"

/** A bucket as the operations on objects need it. */
export interface BucketRef {
  readonly id: number
  readonly name: string
  readonly versioning: BucketVersioning | undefined
}

/** A blob from the main thread; `bytes` if it has no file. */
export interface NewBlob {
  readonly id: string
  readonly size: number
  readonly md5: string
  readonly bytes: Uint8Array | undefined
}

/** The result of a change, and the files that are unreferenced once it is committed. */
export interface IndexChange<A> {
  readonly value: A
  readonly freed: ReadonlyArray<string>
}

export const changed = <A>(value: A, freed: ReadonlyArray<string> = []): IndexChange<A> => ({ value, freed })

/** Shared by the operations: buckets by name, current objects by key, and the referenced blobs. */
export const makeTables = (database: DatabaseSync, history: IndexHistory) => {
  const bucketByName = database.prepare("SELECT id, versioning FROM buckets WHERE name = ?")
  const objectByKey = database.prepare(`SELECT ${objectColumns}, since FROM objects WHERE bucket = ? AND key = ?`)
  const upsertObject = database.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const dropObject = database.prepare("DELETE FROM objects WHERE bucket = ? AND key = ?")
  const addFile = database.prepare("INSERT INTO files VALUES (?)")
  const dropFile = database.prepare("DELETE FROM files WHERE id = ?")
  const addSmall = database.prepare("INSERT INTO small (bytes) VALUES (?)")
  const dropSmall = database.prepare("DELETE FROM small WHERE id = ?")
  const fileById = database.prepare("SELECT 1 FROM files WHERE id = ?")
  const dropPlace = database.prepare("DELETE FROM archived WHERE blob = ?")
  const smallById = database.prepare("SELECT bytes FROM small WHERE id = ?")

  const bucket = (name: string): BucketRef => {
    const row = bucketByName.get(name)
    if (row === undefined) throw new IndexError("NoSuchBucket", { BucketName: name })
    const versioning = row["versioning"]
    return {
      id: Number(row["id"]),
      name,
      versioning: versioning === null ? undefined : (versioning as BucketVersioning)
    }
  }

  const bucketId = (name: string): number => bucket(name).id

  const findObject = (bucket: number, key: string): ObjectRow | undefined => {
    const row = objectByKey.get(bucket, encodeKey(key))
    if (row === undefined) return undefined
    const since = row["since"]
    return typeof since === "number" ? { ...objectRowOf(key, row), since } : objectRowOf(key, row)
  }

  /** Makes a row the current object in place of `old`, whose blobs are not released. */
  const putObject = ({ id, name }: BucketRef, row: ObjectRow, old: ObjectRow | undefined, at: number): void => {
    const { etag, key, meta, modified, segments, size, version } = row
    const keeps = history.keeps(name)
    const since = keeps && at !== modified ? at : null
    const text = JSON.stringify(segments)
    upsertObject.run(id, encodeKey(key), size, etag, modified, meta, text, version ?? null, since)
    if (!keeps) return
    if (old !== undefined) history.past(id, old, at)
    history.record(name, { kind: "object", ...row, since: since ?? undefined }, at)
  }

  /** Removes the current object, whose blobs are not released. */
  const removeObject = ({ id, name }: BucketRef, old: ObjectRow, at: number): void => {
    dropObject.run(id, encodeKey(old.key))
    if (!history.keeps(name)) return
    history.past(id, old, at)
    history.record(name, { kind: "object removed", key: old.key }, at)
  }

  /** Marks a blob as referenced; returns its name in segments. */
  const keep = (blob: NewBlob): string => {
    if (blob.bytes !== undefined) return `#${addSmall.run(blob.bytes).lastInsertRowid}`
    addFile.run(blob.id)
    return blob.id
  }

  /** Undoes `keep`; returns the blobs that have files. */
  const release = (blobs: Iterable<string>): ReadonlyArray<string> => {
    const freed: Array<string> = []
    for (const blob of blobs) {
      dropPlace.run(blob)
      if (blob.startsWith("#")) dropSmall.run(Number(blob.slice(1)))
      else {
        dropFile.run(blob)
        freed.push(blob)
      }
    }
    return freed
  }

  /** Like `release`, for the blobs of an object: these stay for the time of the history. */
  const retire = ({ name }: BucketRef, segments: ReadonlyArray<Segment>, at: number): ReadonlyArray<string> => {
    if (!history.keeps(name)) return release(segments.map(([blob]) => blob))
    history.hold(segments, at)
    return []
  }

  const smallBytesIfThere = (blob: string): Uint8Array | undefined => {
    const bytes = smallById.get(Number(blob.slice(1)))?.["bytes"]
    return bytes instanceof Uint8Array ? bytes : undefined
  }

  const smallBytes = (blob: string): Uint8Array => {
    const bytes = smallBytesIfThere(blob)
    if (bytes !== undefined) return bytes
    throw new Error(`The index is missing the bytes of ${blob}`)
  }

  const hasBlob = (blob: string): boolean =>
    (blob.startsWith("#") ? smallById.get(Number(blob.slice(1))) : fileById.get(blob)) !== undefined

  /** A row with the bytes of its segments without files. */
  const whole = (row: ObjectRow) => {
    const small = blobsOf(row).filter((blob) => blob.startsWith("#"))
    return { row, bytes: new Map(small.map((blob) => [blob, smallBytes(blob)])) }
  }

  return {
    bucket,
    bucketId,
    findObject,
    putObject,
    removeObject,
    keep,
    release,
    retire,
    smallBytes,
    smallBytesIfThere,
    hasBlob,
    whole
  }
}

export type Tables = ReturnType<typeof makeTables>

export const storedEtag = (etag: string): string => etag.replace(/^"(.*)"$/, "$1")

/** Throws unless the condition holds for the existing object. */
export const checkCondition = (
  key: string,
  existing: ObjectRow | undefined,
  condition: WriteCondition | undefined
): void => {
  const { ifMatch, ifModifiedAt, ifNoneMatch, ifSize } = condition ?? {}
  const failed = (which: string) => new IndexError("PreconditionFailed", { Condition: which })
  const holds = (etag: string) => existing !== undefined && (etag === "*" || storedEtag(etag) === existing.etag)
  if (ifNoneMatch !== undefined && holds(ifNoneMatch)) throw failed("If-None-Match")
  if (ifMatch === undefined && ifModifiedAt === undefined && ifSize === undefined) return
  if (existing === undefined) throw new IndexError("NoSuchKey", { Key: key })
  if (ifMatch !== undefined && !holds(ifMatch)) throw failed("If-Match")
  if (ifSize !== undefined && ifSize !== existing.size) throw failed("Size")
  if (ifModifiedAt !== undefined && ifModifiedAt !== Math.floor(existing.modified / 1000)) {
    throw failed("LastModifiedTime")
  }
}
