import { Clock, Effect, Scope } from "effect"
import { randomBytes } from "node:crypto"
import { type BlobDrafts } from "./blobs/Drafts.ts"
import { type BlobFiles } from "./blobs/Files.ts"
import { BlobReader } from "./blobs/Reader.ts"
import { type S3Error, s3Error } from "../Error.ts"
import { type ObjectInfo, type ObjectMeta, type Store } from "./Model.ts"
import { type StoreIndex } from "./Index.ts"
import type { WholeObject } from "./worker/Objects.ts"
import { objectInfo, pinned } from "./Reads.ts"

/** The operations of the store that change something. */
export const storeWrites = (index: StoreIndex, files: BlobFiles, drafts: BlobDrafts) =>
  ({
    createBucket: (name) => timed((now) => index.write("createBucket", [name, now])),
    deleteBucket: (name) => index.write("deleteBucket", [name]),
    setDocument: (bucket, which, text) => index.write("setDocument", [bucket, which, text]),

    write: (body, options) => drafts.write(body, options),

    copy: (source, range) =>
      // Pinned only as long as the copy takes; the copy itself belongs to the caller's scope.
      Effect.scopedWith((scope) =>
        Effect.flatMap(Scope.provide(pinned(index, files, source.bucket, source.key), scope), (whole) =>
          copyOf(files, drafts, source, whole, range)
        )
      ),

    put: (bucket, key, blob, meta, condition) =>
      timed((now) =>
        storable(key, () =>
          drafts.use(blob, (given) =>
            Effect.map(index.write("put", [bucket, key, given, storedMeta(meta), condition, now]), objectInfo)
          )
        )
      ),

    setMeta: (bucket, key, meta, condition) =>
      timed((now) => Effect.map(index.write("setMeta", [bucket, key, storedMeta(meta), condition, now]), objectInfo)),

    remove: (bucket, keys, condition) => index.write("remove", [bucket, keys, condition]),

    createUpload: (bucket, key, meta) =>
      timed((now) =>
        storable(key, () => {
          // In the order of time, which is the order in which uploads of one key are listed.
          const id = now.toString(16).padStart(12, "0") + randomBytes(20).toString("hex")
          return Effect.as(index.write("createUpload", [bucket, key, id, storedMeta(meta), now]), id)
        })
      ),

    putPart: (bucket, key, uploadId, part, blob, checksum) =>
      timed((now) =>
        drafts.use(blob, (given) => index.write("putPart", [bucket, key, uploadId, part, given, checksum, now]))
      ),

    completeUpload: (bucket, key, uploadId, parts, condition, checksum) =>
      timed((now) =>
        Effect.map(index.write("completeUpload", [bucket, key, uploadId, parts, condition, checksum, now]), objectInfo)
      ),

    abortUpload: (bucket, key, uploadId) => index.write("abortUpload", [bucket, key, uploadId])
  }) satisfies Partial<Store>

const timed = <A, E, R>(body: (now: number) => Effect.Effect<A, E, R>) => Effect.flatMap(Clock.currentTimeMillis, body)

/** A key must be text that has UTF-8 bytes: half a surrogate pair has none. */
const storable = <A>(key: string, body: () => Effect.Effect<A, S3Error>) =>
  key.isWellFormed() ? body() : Effect.fail(s3Error("InvalidURI"))

const storedMeta = ({ contentType, headers, user, checksum }: ObjectMeta): string =>
  JSON.stringify({ contentType, headers, user, checksum })

const copyOf = (
  files: BlobFiles,
  drafts: BlobDrafts,
  source: ObjectInfo,
  { row, bytes }: WholeObject,
  range: { readonly start: number; readonly end: number } | undefined
) => {
  const same = row.etag === source.etag && row.size === source.size && row.modified === source.lastModified.getTime()
  if (!same) return Effect.fail(s3Error("OperationAborted"))
  const { start, end } = range ?? { start: 0, end: row.size - 1 }
  if (range !== undefined && (start < 0 || start > end || end >= row.size)) return Effect.fail(s3Error("InvalidRange"))
  let offset = 0
  for (const [blob, size, md5] of row.segments) {
    if (offset === start && offset + size - 1 === end && !bytes.has(blob)) return drafts.clone(blob, size, md5)
    offset += size
  }
  return drafts.write(new BlobReader(files, row.segments, bytes, start, end))
}
