import type { SQLOutputValue } from "node:sqlite"
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
  /** Undefined for the null version, the only one of an object that was stored without versioning. */
  readonly version?: string | undefined
  /** When it became the current version, in ms, if that is not `modified`. */
  readonly since?: number | undefined
}

/** The row of a version that is not the current object: an older one, or a delete marker. */
export interface VersionRow extends ObjectRow {
  /** Newer versions of a key have a greater number. */
  readonly seq: number
  readonly marker: boolean
  /** When it ceased to be the latest version, in ms; undefined for the delete marker that is the latest one. */
  readonly superseded: number | undefined
}

/** One change of a row of the index. Applied in order to an empty index, all changes make the same index. */
export type IndexRowChange =
  | ({ readonly kind: "object" } & ObjectRow)
  | { readonly kind: "object removed"; readonly key: string }
  | ({ readonly kind: "version" } & VersionRow)
  | { readonly kind: "version removed"; readonly key: string; readonly seq: number }
  | {
      readonly kind: "bucket"
      /** ms. */
      readonly created: number
      /** Each BucketDocument that is set. */
      readonly documents: Readonly<Record<string, string>>
    }
  | { readonly kind: "bucket removed" }

/** A change with its place in the order of commits. */
export interface JournalRow {
  readonly sequence: number
  /** ms; never less than that of the change before. */
  readonly at: number
  readonly bucket: string
  readonly change: IndexRowChange
}

/** Where a blob begins in a pack of an archive; null: the pack is for this blob alone, and incomplete. */
export interface BlobPlace {
  readonly pack: string
  readonly start: number | null
}

/** A blob to be archived, or archived. */
export interface PlacedBlob extends BlobPlace {
  readonly blob: string
  readonly size: number
}

/** What an archive needs of the blobs in changes: their places, and the bytes of those that have neither a place nor a file. */
export interface JournalBlobs {
  readonly places: ReadonlyMap<string, BlobPlace>
  readonly small: ReadonlyMap<string, Uint8Array>
}

/** The columns of `objectRowOf`. */
export const objectColumns = "size, etag, modified, meta, segments, version"

export const objectRowOf = (key: string, row: Readonly<Record<string, SQLOutputValue>>): ObjectRow => ({
  key,
  size: Number(row["size"]),
  etag: String(row["etag"]),
  modified: Number(row["modified"]),
  meta: String(row["meta"]),
  segments: JSON.parse(String(row["segments"])),
  version: row["version"] === null ? undefined : String(row["version"])
})

export const blobsOf = (row: ObjectRow | undefined): ReadonlyArray<string> =>
  row === undefined ? [] : row.segments.map(([blob]) => blob)

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
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(code: S3Code, extra?: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>) {
    super(code)
    this.code = code
    this.extra = extra
    this.headers = headers
  }
}
