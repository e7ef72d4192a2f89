import { type Effect, type Scope } from "effect"
import { type Readable } from "node:stream"
import { type S3Error } from "../Error.ts"
import type { JournalBlobs, JournalRow, PlacedBlob } from "./worker/Rows.ts"

export interface Checksum {
  readonly algorithm:
    | "CRC32"
    | "CRC32C"
    | "CRC64NVME"
    | "SHA1"
    | "SHA256"
    | "SHA512"
    | "MD5"
    | "XXHASH64"
    | "XXHASH3"
    | "XXHASH128"
  /** Base64; a composite checksum has the suffix `-<parts>`. */
  readonly value: string
  readonly type: "FULL_OBJECT" | "COMPOSITE"
}

/** An object's metadata from its PUT. */
export interface ObjectMeta {
  /** Default `binary/octet-stream`. */
  readonly contentType: string
  /** Cache-control, content-disposition, content-encoding, content-language, expires: in lower case, if sent. */
  readonly headers: Readonly<Record<string, string>>
  /** Names in lower case without `x-amz-meta-`, values as received (Latin-1 decoded as UTF-8). */
  readonly user: Readonly<Record<string, string>>
  readonly checksum: Checksum | undefined
  readonly tags: ReadonlyArray<Tag>
}

/** Pairs, because any name may be the key of a tag. */
export type Tag = readonly [key: string, value: string]

export interface ObjectInfo extends ObjectMeta {
  readonly key: string
  readonly size: number
  /** The ETag without quotes. */
  readonly etag: string
  readonly lastModified: Date
  /** The parts in order; a single one for an object without parts. Empty in listings. */
  readonly parts: ReadonlyArray<ObjectPart>
  /** Undefined for the null version, and in listings of objects. */
  readonly versionId?: string | undefined
}

/** A version of an object, or a delete marker, which has no content. */
export interface VersionInfo extends Omit<ObjectInfo, "parts"> {
  readonly isMarker: boolean
  readonly isLatest: boolean
  /** When a newer version took its place; undefined for the latest one. */
  readonly supersededAt: Date | undefined
}

interface ObjectPart {
  /** Bytes. */
  readonly size: number
  /** Base64, of the algorithm of the object's checksum; undefined if the object has none. */
  readonly checksum: string | undefined
}

/** Bytes on disk that do not belong to an object yet. */
export interface Blob {
  readonly id: string
  readonly size: number
  /** Hex. */
  readonly md5: string
}

export interface BucketInfo {
  readonly name: string
  readonly createdAt: Date
  /** The documents as stored by `setDocument`. */
  readonly policy: string | undefined
  readonly cors: string | undefined
  readonly publicAccess: PublicAccessBlock | undefined
  /** Undefined as long as it was never set. */
  readonly versioning: BucketVersioning | undefined
}

/** Suspended: new objects are null versions, of which a key has at most one, and older versions stay. */
export type BucketVersioning = "Enabled" | "Suspended"

/** S3's settings against public buckets, by the names that they have in its documents. */
export interface PublicAccessBlock {
  /** There are no ACLs, so these two always hold. */
  readonly BlockPublicAcls: boolean
  readonly IgnorePublicAcls: boolean
  /** No policy may allow anonymous callers anything. */
  readonly BlockPublicPolicy: boolean
  /** No policy does. */
  readonly RestrictPublicBuckets: boolean
}

/** Documents that are read with the bucket, and others. */
export type BucketDocument = "policy" | "cors" | "publicAccess" | "lifecycle" | "tagging" | "versioning"

/**
 * Checked in the transaction that writes. Fails with PreconditionFailed, or with NoSuchKey if there is no object and
 * anything but `ifNoneMatch` is given.
 */
export interface WriteCondition {
  /** An ETag (quotes are ignored) or `*`. */
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  /** Whole seconds since the epoch. */
  readonly ifModifiedAt?: number | undefined
  /** Bytes. */
  readonly ifSize?: number | undefined
}

export interface RemovalTarget {
  readonly key: string
  /** Removes this version for good; `null` is the null version. Undefined: removes the object, or adds a delete marker. */
  readonly version?: string | undefined
  /** On that version, or on the current object. */
  readonly condition?: WriteCondition | undefined
}

/** What a removal did; empty in a bucket that never had versioning. */
export interface RemovedVersion {
  /** The id of the version that was removed, or of the delete marker that was added. */
  readonly version?: string
  /** Whether that is a delete marker. */
  readonly marker?: boolean
  /** Whether it was added. */
  readonly made?: boolean
}

export interface ListOptions {
  readonly prefix: string
  /** Empty: no grouping. */
  readonly delimiter: string
  /** Exclusive; empty: from the start. A common prefix here skips all keys below it. */
  readonly after: string
  /** The maximum number of objects and prefixes together. */
  readonly limit: number
}

export interface Listing {
  readonly objects: ReadonlyArray<ObjectInfo>
  readonly prefixes: ReadonlyArray<string>
  /** `after` of the next page; undefined on the last one. */
  readonly next: string | undefined
}

export interface VersionsOptions {
  readonly prefix: string
  readonly delimiter: string
  readonly keyMarker: string
  /** Ignored without `keyMarker`; empty: skips all versions of that key. */
  readonly versionIdMarker: string
  readonly limit: number
}

export interface VersionListing {
  /** Sorted by key, newest first. */
  readonly versions: ReadonlyArray<VersionInfo>
  readonly prefixes: ReadonlyArray<string>
  /** The markers of the next page; undefined on the last one. */
  readonly next: { readonly keyMarker: string; readonly versionIdMarker: string } | undefined
}

export interface UploadsOptions {
  readonly prefix: string
  readonly delimiter: string
  readonly keyMarker: string
  /** Ignored without `keyMarker`; empty: skips all uploads of that key. */
  readonly uploadIdMarker: string
  readonly limit: number
}

export interface UploadListing {
  /** Sorted by key, then by age. */
  readonly uploads: ReadonlyArray<{ readonly key: string; readonly uploadId: string; readonly createdAt: Date }>
  readonly prefixes: ReadonlyArray<string>
  readonly more: boolean
  /** The markers of the next page; undefined on the last one. */
  readonly next: { readonly keyMarker: string; readonly uploadIdMarker: string } | undefined
}

export interface PartInfo {
  readonly part: number
  readonly size: number
  readonly etag: string
  readonly lastModified: Date
  readonly checksum: Checksum | undefined
}

/** A part as listed in the completion of an upload; `checksum` (Base64), if given, must match the part's. */
export interface CompletedPart {
  readonly part: number
  readonly etag: string
  readonly checksum?: string | undefined
}

export interface WriteOptions {
  /** Maximum bytes; a longer body fails with EntityTooLarge. */
  readonly limit?: number | undefined
  /** Receives every chunk; an exception fails the write, like one of the body. */
  readonly sink?: ((chunk: Uint8Array) => void) | undefined
}

/** `open` reads the bytes between two offsets, both inclusive. */
export interface OpenObject {
  readonly info: ObjectInfo
  readonly open: (start: number, end: number) => Readable
}

/**
 * What the store showed at earlier times (in ms), for the time that its history is kept. Reads of times before that fail
 * with ObjectsNotKept.
 */
export interface StoreHistory {
  readonly state: Effect.Effect<{
    /** The earliest time, in ms; undefined if no history is kept. */
    readonly earliest: number | undefined
    /** Bytes that only the history needs. */
    readonly bytes: number
  }>
  /** Keeps the history from a time on for longer, until this is called again; undefined: no longer than all. */
  readonly keepFrom: (at: number | undefined) => Effect.Effect<void>
  readonly buckets: (at: number) => Effect.Effect<ReadonlyArray<Pick<BucketInfo, "name" | "createdAt">>, S3Error>
  readonly list: (bucket: string, options: ListOptions, at: number) => Effect.Effect<Listing, S3Error>
  /** Metadata and tags are as they were, too. Fails with NoSuchKey. */
  readonly get: (bucket: string, key: string, at: number) => Effect.Effect<OpenObject, S3Error, Scope.Scope>
}

/**
 * Everything that an archive needs to follow the store. It begins with `position`, reads all `rows`, and then applies the
 * `changes` after that position: applied in order, each change sets or removes one row, so it does not matter that some
 * were in the rows already.
 *
 * A blob that a change or row names can be read for the time of the history after the object was deleted or replaced. An
 * archive that falls behind by more than that finds `lost` in the answer, or NoSuchKey for a blob, and begins again; it also
 * does if it falls behind by 500,000 changes, or if the service ran without a history meanwhile.
 */
export interface StoreJournal {
  /** The sequence of the last change. */
  readonly position: Effect.Effect<number>
  /** The changes after a sequence in the order of their commits; `lost`: not all of them are there. */
  readonly changes: (
    after: number,
    limit: number
  ) => Effect.Effect<{
    readonly changes: ReadonlyArray<JournalRow>
    readonly blobs: JournalBlobs
    readonly lost: boolean
  }>
  /** Drops the changes up to a sequence, which the archive has. */
  readonly confirm: (sequence: number) => Effect.Effect<void>
  /** A page of all buckets, objects and versions; `cursor`: `next` of the page before. */
  readonly rows: (
    cursor: string | undefined,
    limit: number
  ) => Effect.Effect<{
    readonly rows: ReadonlyArray<Pick<JournalRow, "bucket" | "change">>
    readonly blobs: JournalBlobs
    readonly next: string | undefined
  }>
  /** The bytes of a blob, by its name in the segments of a row. Fails with NoSuchKey. */
  readonly blob: (id: string, size: number) => Effect.Effect<Readable, S3Error, Scope.Scope>

  /** The archive that the store remembers the places of blobs for, and its own name there; `begin` sets them, and forgets all places. */
  readonly archive: Effect.Effect<{ readonly id: string; readonly store: string } | undefined>
  readonly begin: (archive: string, store: string) => Effect.Effect<void>
  /** Remembers where blobs are in the archive, as long as the store has them. */
  readonly place: (places: ReadonlyArray<PlacedBlob>) => Effect.Effect<void>
  /** The packs of the archive with places, and how many bytes of each the store still has. */
  readonly packs: Effect.Effect<ReadonlyArray<{ readonly pack: string; readonly live: number }>>
  /** Forgets the places in some packs, so that their blobs are archived again. */
  readonly displace: (packs: ReadonlyArray<string>) => Effect.Effect<void>
}

/**
 * Objects in buckets on the local disk. A write completes when it is durable; a kill at any moment leaves either the old
 * object or the new one. Writes may fail with InsufficientStorage when the disk is full.
 */
export interface LocalStore {
  readonly buckets: Effect.Effect<ReadonlyArray<BucketInfo>>
  /** Fails with NoSuchBucket, like all operations below. */
  readonly bucket: (name: string) => Effect.Effect<BucketInfo, S3Error>
  /** Fails with BucketAlreadyOwnedByYou. */
  readonly createBucket: (name: string) => Effect.Effect<void, S3Error>
  /** Fails with BucketNotEmpty if there are objects, versions or delete markers; open uploads are deleted with the bucket. */
  readonly deleteBucket: (name: string) => Effect.Effect<void, S3Error>
  readonly setDocument: (
    bucket: string,
    which: BucketDocument,
    text: string | undefined
  ) => Effect.Effect<void, S3Error>
  readonly document: (bucket: string, which: "lifecycle" | "tagging") => Effect.Effect<string | undefined, S3Error>
  /** The lifecycle documents of all buckets. Does not fail. */
  readonly lifecycles: Effect.Effect<ReadonlyArray<{ readonly bucket: string; readonly text: string }>>

  /**
   * Reads `body` into a synced file. Fails with the S3Error that the body throws, or with IncompleteBody for any other
   * exception. The blob is deleted when the scope closes unless it was put. Failure and interruption leave nothing
   * behind.
   */
  readonly write: (body: AsyncIterable<Uint8Array>, options?: WriteOptions) => Effect.Effect<Blob, S3Error, Scope.Scope>
  /**
   * Copies a version of an object, or its `range` (both ends inclusive), to a new blob. Fails with NoSuchKey, or with OperationAborted
   * if it is no longer the one of `source`.
   */
  readonly copy: (
    source: ObjectInfo & { readonly bucket: string },
    range: { readonly start: number; readonly end: number } | undefined
  ) => Effect.Effect<Blob, S3Error, Scope.Scope>
  readonly put: (
    bucket: string,
    key: string,
    blob: Blob,
    meta: ObjectMeta,
    condition?: WriteCondition
  ) => Effect.Effect<ObjectInfo, S3Error>
  /** Replaces the metadata and keeps the bytes. Fails with NoSuchKey, and with OperationAborted in a bucket with versioning. */
  readonly setMeta: (
    bucket: string,
    key: string,
    meta: ObjectMeta,
    condition?: WriteCondition
  ) => Effect.Effect<ObjectInfo, S3Error>
  /**
   * Fails with NoSuchKey if there is no current object. With a version's id (`null`: the null version) with NoSuchVersion,
   * and with MethodNotAllowed for a delete marker.
   */
  readonly head: (bucket: string, key: string, version?: string) => Effect.Effect<ObjectInfo, S3Error>
  /**
   * `open` reads the bytes from `start` to `end`, both inclusive. They remain readable until the scope and all opened
   * streams are closed, even if the object is deleted or replaced. Fails as `head` does.
   */
  readonly get: (bucket: string, key: string, version?: string) => Effect.Effect<OpenObject, S3Error, Scope.Scope>
  /**
   * Removes several objects or versions in one transaction. Ignores missing ones unless the condition requires an object;
   * the failure of a condition keeps them all.
   */
  readonly remove: (
    bucket: string,
    targets: ReadonlyArray<RemovalTarget>
  ) => Effect.Effect<ReadonlyArray<RemovedVersion>, S3Error>
  /** Like `remove`, but returns the error of each that is kept, and removes the others. */
  readonly removeEach: (
    bucket: string,
    targets: ReadonlyArray<RemovalTarget>
  ) => Effect.Effect<ReadonlyArray<RemovedVersion | S3Error>, S3Error>
  /** Replaces the tags and keeps all else, also the time of the last change. Fails as `head` does. */
  readonly setTags: (
    bucket: string,
    key: string,
    tags: ReadonlyArray<Tag>,
    version?: string
  ) => Effect.Effect<ObjectInfo, S3Error>
  /** Removes those objects that are still the given ones; returns their number. */
  readonly expire: (bucket: string, objects: ReadonlyArray<ObjectInfo>) => Effect.Effect<number, S3Error>
  /** Removes older versions, and delete markers that are still the only version of their key; returns their number. */
  readonly expireVersions: (bucket: string, versions: ReadonlyArray<VersionInfo>) => Effect.Effect<number, S3Error>
  /** Sorted by the UTF-8 bytes of the keys. */
  readonly list: (bucket: string, options: ListOptions) => Effect.Effect<Listing, S3Error>
  readonly versions: (bucket: string, options: VersionsOptions) => Effect.Effect<VersionListing, S3Error>

  readonly history: StoreHistory
  readonly journal: StoreJournal

  /** Returns the id of a new upload: unguessable hex digits. */
  readonly createUpload: (bucket: string, key: string, meta: ObjectMeta) => Effect.Effect<string, S3Error>
  /** Fails with NoSuchUpload, like all operations below. */
  readonly upload: (
    bucket: string,
    key: string,
    uploadId: string
  ) => Effect.Effect<{ readonly meta: ObjectMeta; readonly createdAt: Date }, S3Error>
  readonly putPart: (
    bucket: string,
    key: string,
    uploadId: string,
    part: number,
    blob: Blob,
    checksum: ObjectMeta["checksum"]
  ) => Effect.Effect<void, S3Error>
  /** The parts with numbers above `after`. */
  readonly parts: (
    bucket: string,
    key: string,
    uploadId: string,
    after: number,
    limit: number
  ) => Effect.Effect<{ readonly parts: ReadonlyArray<PartInfo>; readonly more: boolean }, S3Error>
  /** Fails with NoSuchBucket only. */
  readonly uploads: (bucket: string, options: UploadsOptions) => Effect.Effect<UploadListing, S3Error>
  /**
   * Creates the object from the parts in one transaction, with the metadata of `createUpload` and with `checksum` (none if
   * absent: that of `createUpload` only announces its type). Fails with InvalidPart, InvalidPartOrder, EntityTooSmall (a
   * part under 5 MiB that is not the last), PreconditionFailed. Repeated within an hour, it returns the same object.
   */
  readonly completeUpload: (
    bucket: string,
    key: string,
    uploadId: string,
    parts: ReadonlyArray<CompletedPart>,
    condition?: WriteCondition,
    checksum?: Checksum
  ) => Effect.Effect<ObjectInfo, S3Error>
  readonly abortUpload: (bucket: string, key: string, uploadId: string) => Effect.Effect<void, S3Error>
}
