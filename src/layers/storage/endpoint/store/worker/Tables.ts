import type { DatabaseSync } from "node:sqlite"
import type { WriteCondition } from "../Model.ts"
import type { S3Code } from "../../Error.ts"

/**
 * A part of an object's bytes: the file with this id, or for `#<number>` a row of the table `small`. The checksum is that
 * of a part, if the object has one.
 */
export type Segment = readonly [blob: string, size: number, md5: string, checksum?: string]

/** An object as sent between the threads. `meta` is an ObjectMeta as JSON, `modified` in ms. */
export interface ObjectRow {
  readonly key: string
  readonly size: number
  readonly etag: string
  readonly modified: number
  readonly meta: string
  readonly segments: ReadonlyArray<Segment>
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

/** Shared by the operations: buckets by name, objects by key, and the referenced blobs. */
export const makeTables = (database: DatabaseSync) => {
  const bucketByName = database.prepare("SELECT id FROM buckets WHERE name = ?")
  const objectByKey = database.prepare(
    "SELECT size, etag, modified, meta, segments FROM objects WHERE bucket = ? AND key = ?"
  )
  const upsertObject = database.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)")
  const addFile = database.prepare("INSERT INTO files VALUES (?)")
  const dropFile = database.prepare("DELETE FROM files WHERE id = ?")
  const addSmall = database.prepare("INSERT INTO small (bytes) VALUES (?)")
  const dropSmall = database.prepare("DELETE FROM small WHERE id = ?")
  const smallById = database.prepare("SELECT bytes FROM small WHERE id = ?")

  const bucketId = (name: string): number => {
    const row = bucketByName.get(name)
    if (row === undefined) throw new IndexError("NoSuchBucket", { BucketName: name })
    return Number(row["id"])
  }

  const findObject = (bucket: number, key: string): ObjectRow | undefined => {
    const row = objectByKey.get(bucket, encodeKey(key))
    if (row === undefined) return undefined
    return {
      key,
      size: Number(row["size"]),
      etag: String(row["etag"]),
      modified: Number(row["modified"]),
      meta: String(row["meta"]),
      segments: JSON.parse(String(row["segments"]))
    }
  }

  const putObject = (bucket: number, row: ObjectRow): void => {
    const segments = JSON.stringify(row.segments)
    upsertObject.run(bucket, encodeKey(row.key), row.size, row.etag, row.modified, row.meta, segments)
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
      if (blob.startsWith("#")) dropSmall.run(Number(blob.slice(1)))
      else {
        dropFile.run(blob)
        freed.push(blob)
      }
    }
    return freed
  }

  const smallBytes = (blob: string): Uint8Array => {
    const bytes = smallById.get(Number(blob.slice(1)))?.["bytes"]
    if (bytes instanceof Uint8Array) return bytes
    throw new Error(`The index is missing the bytes of ${blob}`)
  }

  return { bucketId, findObject, putObject, keep, release, smallBytes }
}

export type Tables = ReturnType<typeof makeTables>

export const blobsOf = (row: ObjectRow | undefined): ReadonlyArray<string> =>
  row === undefined ? [] : row.segments.map(([blob]) => blob)

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

/** A key as stored, in UTF-8 bytes. */
export const encodeKey = (key: string): Buffer => Buffer.from(key, "utf8")

export const decodeKey = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")

/** Sorts after every key: UTF-8 has no byte 0xff. */
const beyondAll = Buffer.from([0xff])

/** The lowest bytes that sort after all keys with this prefix (UTF-8 never ends in 0xff). */
export const afterPrefix = (prefix: Buffer): Buffer => {
  if (prefix.length === 0) return beyondAll
  const next = Buffer.from(prefix)
  next[next.length - 1] = (next[next.length - 1] ?? 0) + 1
  return next
}

/** The lowest bytes that sort after this key. */
export const afterKey = (key: Buffer): Buffer => Buffer.concat([key, Buffer.from([0])])

/** Thrown in the index thread instead of S3Error, which would load Effect there. */
export class IndexError extends Error {
  readonly code: S3Code
  readonly extra: Readonly<Record<string, string>> | undefined

  constructor(code: S3Code, extra?: Readonly<Record<string, string>>) {
    super(code)
    this.code = code
    this.extra = extra
  }
}
