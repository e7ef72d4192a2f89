import { Clock, Effect, Schedule, Scope } from "effect"
import { type FileOwner } from "../../../process/FileLock.ts"
import { BlobDrafts } from "./blobs/Drafts.ts"
import { BlobFiles } from "./blobs/Files.ts"
import { makeBlobHashes } from "./blobs/Hash.ts"
import { type HistoryOptions, openIndex, type StoreIndex } from "./Index.ts"
import {
  type BucketInfo,
  type Listing,
  type LocalStore,
  type ObjectInfo,
  type ObjectMeta,
  type OpenObject,
  type StoreHistory,
  type StoreJournal
} from "./Model.ts"
import { BlobReader } from "./blobs/Reader.ts"
import type { BucketRow } from "./worker/Buckets.ts"
import type { WholeObject } from "./worker/Objects.ts"
import type { Reads } from "./worker/Worker.ts"
import { blobsOf, type ObjectRow } from "./worker/Rows.ts"
import { randomBytes } from "node:crypto"
import { type S3Code, type S3Error, s3Error } from "../Error.ts"

/**
 * Opens the store in a directory, creating it if missing; one store per directory. New files belong to `owner`.
 * `history`: whether it keeps one, and for how long, in ms.
 */
export const makeLocalStore = Effect.fnUntraced(function* (
  directory: string,
  owner: FileOwner | undefined,
  history: HistoryOptions = { enabled: false, keep: 0 }
) {
  const files = yield* BlobFiles.open(directory, owner)
  const index = yield* openIndex(files, owner, history)
  const drafts = new BlobDrafts(files, yield* makeBlobHashes)
  yield* Effect.forkScoped(sweep(index, files))
  yield* forgetHistory(index, history.keep)
  const store: LocalStore = {
    ...storeReads(index, files),
    ...storeWrites(index, files, drafts),
    history: storeHistory(index, files),
    journal: storeJournal(index, files)
  }
  return store
})

/** The store's read operations. */
const storeReads = (index: StoreIndex, files: BlobFiles) =>
  ({
    buckets: Effect.map(Effect.orDie(index.read("buckets", [])), (rows) => rows.map(bucketInfo)),
    bucket: (name) => Effect.map(index.read("bucket", [name]), bucketInfo),

    document: (bucket, which) => index.read("document", [bucket, which]),
    lifecycles: Effect.orDie(index.read("lifecycles", [])),

    head: (bucket, key, version) => Effect.map(index.read("head", [bucket, key, version]), objectInfo),

    get: (bucket, key, version) => Effect.map(pinned(index, files, "whole", [bucket, key, version]), openObject(files)),

    list: (bucket, options) => Effect.map(index.read("list", [bucket, options]), listingOf),

    versions: (bucket, options) =>
      Effect.map(index.read("versions", [bucket, options]), ({ next, prefixes, versions }) => ({
        versions: versions.map(({ isLatest, marker, superseded, ...row }) => ({
          ...objectInfo({ ...row, segments: [] }),
          isMarker: marker,
          isLatest,
          supersededAt: superseded === undefined ? undefined : new Date(superseded)
        })),
        prefixes,
        next
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
  }) satisfies Partial<LocalStore>

/**
 * An object whose files are kept until the scope closes. They are pinned before any later answer of the index is
 * processed, and only such an answer can free them.
 */
const pinned = <K extends "whole" | "wholeAt">(
  index: StoreIndex,
  files: BlobFiles,
  name: K,
  given: Parameters<Reads[K]>
) => {
  const pin = ({ row }: WholeObject) => files.pin(blobsOf(row))
  return Effect.acquireRelease(index.read(name, given, pin), ({ row }) => Effect.sync(() => files.unpin(blobsOf(row))))
}

const openObject =
  (files: BlobFiles) =>
  ({ bytes, row }: WholeObject): OpenObject => ({
    info: objectInfo(row),
    open: (start, end) => new BlobReader(files, row.segments, bytes, start, end)
  })

const listingOf = (found: ReturnType<Reads["list"]>): Listing => ({
  ...found,
  objects: found.objects.map((row) => objectInfo({ ...row, segments: [] }))
})

/** What the store showed at earlier times. */
const storeHistory = (index: StoreIndex, files: BlobFiles): StoreHistory => ({
  state: Effect.orDie(index.read("historyState", [])),
  keepFrom: (at) => Effect.orDie(index.write("keepFrom", [at])),
  buckets: (at) =>
    Effect.map(index.read("bucketsAt", [at]), (rows) =>
      rows.map(({ created, name }) => ({ name, createdAt: new Date(created) }))
    ),
  list: (bucket, options, at) => Effect.map(index.read("listAt", [bucket, options, at]), listingOf),
  get: (bucket, key, at) => Effect.map(pinned(index, files, "wholeAt", [bucket, key, at]), openObject(files))
})

const storeJournal = (index: StoreIndex, files: BlobFiles): StoreJournal => ({
  position: Effect.orDie(index.read("position", [])),
  changes: (after, limit) => Effect.orDie(index.read("changes", [after, limit])),
  confirm: (sequence) => Effect.orDie(index.write("confirm", [sequence])),
  archive: Effect.orDie(index.read("archive", [])),
  begin: (archive, store) => Effect.orDie(index.write("beginArchive", [archive, store])),
  place: (places) => Effect.orDie(index.write("place", [places])),
  packs: Effect.orDie(index.read("packs", [])),
  displace: (packs) => Effect.orDie(index.write("displace", [packs])),
  rows: (cursor, limit) => Effect.orDie(index.read("rows", [cursor, limit])),
  blob: (id, size) =>
    Effect.acquireRelease(
      index.read("blob", [id], () => files.pin([id])),
      () => Effect.sync(() => files.unpin([id]))
    ).pipe(
      Effect.map((bytes) => {
        const small = new Map(bytes === undefined ? [] : [[id, bytes] as const])
        return new BlobReader(files, [[id, size, ""]], small, 0, size - 1)
      })
    )
})

/** An index row as the store's type. */
const objectInfo = (row: ObjectRow): ObjectInfo => ({
  ...parseMeta(row.meta),
  key: row.key,
  size: row.size,
  etag: row.etag,
  lastModified: new Date(row.modified),
  parts: row.segments.map(([, size, , checksum]) => ({ size, checksum })),
  ...(row.version === undefined ? {} : { versionId: row.version })
})

const parseMeta = (text: string): ObjectMeta => {
  const {
    contentType,
    headers,
    user,
    checksum,
    tags = []
  } = JSON.parse(text) as ObjectMeta & { tags?: ObjectMeta["tags"] }
  return { contentType, headers, user, checksum, tags }
}

const bucketInfo = ({ name, created, policy, cors, publicAccess, versioning }: BucketRow): BucketInfo => ({
  name,
  createdAt: new Date(created),
  policy,
  cors,
  publicAccess: publicAccess === undefined ? undefined : JSON.parse(publicAccess),
  versioning
})

/** The store's write operations. */
const storeWrites = (index: StoreIndex, files: BlobFiles, drafts: BlobDrafts) =>
  ({
    createBucket: (name) => timed((now) => index.write("createBucket", [name, now])),
    deleteBucket: (name) => timed((now) => index.write("deleteBucket", [name, now])),
    setDocument: (bucket, which, text) => timed((now) => index.write("setDocument", [bucket, which, text, now])),

    write: (body, options) => drafts.write(body, options),

    copy: (source, range) =>
      // Pinned only while copying; the copy itself belongs to the caller's scope.
      Effect.scopedWith((scope) =>
        Effect.flatMap(
          Scope.provide(pinned(index, files, "whole", [source.bucket, source.key, source.versionId ?? "null"]), scope),
          (whole) => copyOf(files, drafts, source, whole, range)
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

    remove: (bucket, targets) => timed((now) => index.write("remove", [bucket, targets, now])),

    removeEach: (bucket, targets) =>
      timed((now) =>
        Effect.map(index.write("removeEach", [bucket, targets, now]), (results) => {
          // One for each code, because a thousand errors with their stacks would hold up other requests.
          const errors = new Map<S3Code, S3Error>()
          return results.map((result) => {
            if (!("code" in result)) return result
            const error = errors.get(result.code) ?? s3Error(result.code)
            errors.set(result.code, error)
            return error
          })
        })
      ),

    setTags: (bucket, key, tags, version) =>
      timed((now) => Effect.map(index.write("setTags", [bucket, key, version, tags, now]), objectInfo)),

    expire: (bucket, objects) =>
      timed((now) =>
        index.write("expire", [
          bucket,
          objects.map(({ key, etag, lastModified }) => ({ key, etag, modified: lastModified.getTime() })),
          now
        ])
      ),

    expireVersions: (bucket, versions) =>
      timed((now) =>
        index.write("expireVersions", [
          bucket,
          versions.map(({ key, lastModified, versionId = "null" }) => ({
            key,
            version: versionId,
            modified: lastModified.getTime()
          })),
          now
        ])
      ),

    createUpload: (bucket, key, meta) =>
      timed((now) =>
        storable(key, () => {
          // Sorts by time, the order in which uploads of one key are listed.
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
  }) satisfies Partial<LocalStore>

const timed = <A, E, R>(body: (now: number) => Effect.Effect<A, E, R>) => Effect.flatMap(Clock.currentTimeMillis, body)

/** Rejects keys that can't be encoded as UTF-8 because of unpaired surrogates. */
const storable = <A>(key: string, body: () => Effect.Effect<A, S3Error>) =>
  key.isWellFormed() ? body() : Effect.fail(s3Error("InvalidURI"))

const storedMeta = ({ contentType, headers, user, checksum, tags }: ObjectMeta): string =>
  JSON.stringify({ contentType, headers, user, checksum, tags: tags.length === 0 ? undefined : tags })

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

/** Files looked up per request to the index. */
const batch = 1000

/** Deletes leftovers of earlier starts: temporary files, and blobs that the index does not reference. */
const sweep = (index: StoreIndex, files: BlobFiles): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.promise(() => files.discardTemporary())
    for (const directory of yield* Effect.promise(() => files.directoryNames())) {
      const older = yield* Effect.promise(() => files.olderBlobs(directory))
      for (let at = 0; at < older.length; at += batch)
        files.free(yield* index.read("unreferenced", [older.slice(at, at + batch)]))
    }
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("Failed to delete leftover object files", cause)))

/** Rows and blobs that one transaction forgets. */
const forgotten = 500

/** Forgets the history that is older than `keep`, in ms, once a minute. That of an earlier start ends, too. */
const forgetHistory = (index: StoreIndex, keep: number) =>
  Effect.gen(function* () {
    const before = (yield* Clock.currentTimeMillis) - keep
    if (before <= 0) return
    let more = true
    while (more) more = (yield* index.write("forget", [before, forgotten])).more
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("Failed to forget old objects of the history", cause)),
    Effect.repeat(Schedule.spaced("1 minute")),
    Effect.forkScoped
  )
