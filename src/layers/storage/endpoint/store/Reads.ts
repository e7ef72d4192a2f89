import { Effect } from "effect"
import { type BlobFiles } from "./blobs/Files.ts"
import { BlobReader } from "./blobs/Reader.ts"
import { type BucketInfo, type ObjectInfo, type ObjectMeta, type Store } from "./Model.ts"
import type { BucketRow } from "./worker/Buckets.ts"
import { type StoreIndex } from "./Index.ts"
import type { WholeObject } from "./worker/Objects.ts"
import { blobsOf, type ObjectRow } from "./worker/Tables.ts"

/** The operations of the store that change nothing. */
export const storeReads = (index: StoreIndex, files: BlobFiles) =>
  ({
    buckets: Effect.map(Effect.orDie(index.read("buckets", [])), (rows) => rows.map(bucketInfo)),
    bucket: (name) => Effect.map(index.read("bucket", [name]), bucketInfo),

    head: (bucket, key) => Effect.map(index.read("head", [bucket, key]), objectInfo),

    get: (bucket, key) =>
      Effect.map(pinned(index, files, bucket, key), ({ row, bytes }) => ({
        info: objectInfo(row),
        open: (start: number, end: number) => new BlobReader(files, row.segments, bytes, start, end)
      })),

    list: (bucket, options) =>
      Effect.map(index.read("list", [bucket, options]), (found) => ({
        ...found,
        objects: found.objects.map((row) => objectInfo({ ...row, segments: [] }))
      })),

    upload: (bucket, key, uploadId) =>
      Effect.map(index.read("upload", [bucket, key, uploadId]), ({ meta, created }) => ({
        meta: parseMeta(meta),
        createdAt: new Date(created)
      })),

    parts: (bucket, key, uploadId, after, limit) =>
      Effect.map(index.read("parts", [bucket, key, uploadId, after, limit]), ({ parts, more }) => ({
        parts: parts.map(({ part, segment: [, size, etag], modified, checksum }) => ({
          part,
          size,
          etag,
          lastModified: new Date(modified),
          checksum
        })),
        more
      })),

    uploads: (bucket, options) =>
      Effect.map(index.read("uploads", [bucket, options]), ({ uploads, prefixes, next }) => ({
        uploads: uploads.map(({ key, uploadId, created }) => ({ key, uploadId, createdAt: new Date(created) })),
        prefixes,
        more: next !== undefined,
        next
      }))
  }) satisfies Partial<Store>

/**
 * An object whose files stay until the scope closes. They are pinned before any later answer of the index is looked at,
 * and only such an answer could free them.
 */
export const pinned = (index: StoreIndex, files: BlobFiles, bucket: string, key: string) => {
  const seize = ({ row }: WholeObject) => files.pin(blobsOf(row))
  return Effect.acquireRelease(index.read("whole", [bucket, key], seize), ({ row }) =>
    Effect.sync(() => files.unpin(blobsOf(row)))
  )
}

/** The index's row in the words of the store. */
export const objectInfo = (row: ObjectRow): ObjectInfo => ({
  ...parseMeta(row.meta),
  key: row.key,
  size: row.size,
  etag: row.etag,
  lastModified: new Date(row.modified),
  partSizes: row.segments.map(([, size]) => size)
})

const parseMeta = (text: string): ObjectMeta => {
  const { contentType, headers, user, checksum } = JSON.parse(text) as ObjectMeta
  return { contentType, headers, user, checksum }
}

const bucketInfo = ({ name, created, policy, cors }: BucketRow): BucketInfo => ({
  name,
  createdAt: new Date(created),
  policy,
  cors
})
