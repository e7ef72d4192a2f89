import { type Effect, type Scope } from "effect"
import { type Readable } from "node:stream"
import { type S3Error } from "../Error.ts"

export interface Checksum {
  readonly algorithm: "CRC32" | "CRC32C" | "CRC64NVME" | "SHA1" | "SHA256"
  /** Base64, of a composite one with `-<parts>`. */
  readonly value: string
  readonly type: "FULL_OBJECT" | "COMPOSITE"
}

/** What a PUT brings beside the bytes. */
export interface ObjectMeta {
  /** `binary/octet-stream` when none was sent. */
  readonly contentType: string
  /** Cache-control, content-disposition, content-encoding, content-language, expires: lower case, only those sent. */
  readonly headers: Readonly<Record<string, string>>
  /** Names in lower case without `x-amz-meta-`, values as received (latin1 decoded as UTF-8). */
  readonly user: Readonly<Record<string, string>>
  readonly checksum: Checksum | undefined
}

export interface ObjectInfo extends ObjectMeta {
  readonly key: string
  readonly size: number
  /** Without quotes. */
  readonly etag: string
  readonly lastModified: Date
  /** The size of each part, one for an object that was put at once. Empty in listings. */
  readonly partSizes: ReadonlyArray<number>
}

/** Bytes that are safely on disk but belong to no object yet. */
export interface Blob {
  readonly id: string
  readonly size: number
  /** Hex. */
  readonly md5: string
}

export interface BucketInfo {
  readonly name: string
  readonly createdAt: Date
  /** As stored by `setDocument`. */
  readonly policy: string | undefined
  readonly cors: string | undefined
}

/**
 * Each an etag (quotes are ignored) or `*`; judged inside the transaction that writes. Fails with PreconditionFailed,
 * or NoSuchKey when `ifMatch` meets no object.
 */
export interface Condition {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

export interface ListOptions {
  readonly prefix: string
  /** Empty for none. */
  readonly delimiter: string
  /** Exclusive; empty from the start. A common prefix here leaves out all that is below it. */
  readonly after: string
  /** Of objects and prefixes together. */
  readonly limit: number
}

export interface Listing {
  readonly objects: ReadonlyArray<ObjectInfo>
  readonly prefixes: ReadonlyArray<string>
  /** `after` of the next page; undefined when this is the last. */
  readonly next: string | undefined
}

export interface UploadsOptions {
  readonly prefix: string
  readonly delimiter: string
  readonly keyMarker: string
  /** Of no meaning without `keyMarker`; empty: all uploads of that key are left out. */
  readonly uploadIdMarker: string
  readonly limit: number
}

interface UploadListing {
  /** By key, then by age. */
  readonly uploads: ReadonlyArray<{ readonly key: string; readonly uploadId: string; readonly createdAt: Date }>
  readonly prefixes: ReadonlyArray<string>
  readonly more: boolean
  /** The markers of the next page; undefined when this is the last. */
  readonly next: { readonly keyMarker: string; readonly uploadIdMarker: string } | undefined
}

export interface PartInfo {
  readonly part: number
  readonly size: number
  readonly etag: string
  readonly lastModified: Date
  readonly checksum: Checksum | undefined
}

/** A part as named by who completes an upload; a `checksum` (base64) that is given must be that of the part. */
export interface CompletedPart {
  readonly part: number
  readonly etag: string
  readonly checksum?: string | undefined
}

export interface WriteOptions {
  /** In bytes; EntityTooLarge beyond it. */
  readonly limit?: number | undefined
  /** Sees every chunk on the way; what it throws fails the write, as what the body throws. */
  readonly sink?: ((chunk: Uint8Array) => void) | undefined
}

/**
 * Objects in buckets, on the local disk. What has been answered is on disk; a kill at any moment leaves the old object
 * or the new one. Any operation that writes may fail with InsufficientStorage when the disk is full.
 */
export interface Store {
  readonly buckets: Effect.Effect<ReadonlyArray<BucketInfo>>
  /** Fails with NoSuchBucket, as all below do. */
  readonly bucket: (name: string) => Effect.Effect<BucketInfo, S3Error>
  /** Fails with BucketAlreadyOwnedByYou. */
  readonly createBucket: (name: string) => Effect.Effect<void, S3Error>
  /** Fails with BucketNotEmpty when there are objects; open uploads go with the bucket. */
  readonly deleteBucket: (name: string) => Effect.Effect<void, S3Error>
  readonly setDocument: (
    bucket: string,
    which: "policy" | "cors",
    text: string | undefined
  ) => Effect.Effect<void, S3Error>

  /**
   * Reads all of `body` into a synced file. An S3Error that the body throws is the failure; when it breaks off
   * otherwise it is IncompleteBody. The blob goes when the scope closes, unless it was put. Nothing stays behind on
   * failure or interruption.
   */
  readonly write: (body: AsyncIterable<Uint8Array>, options?: WriteOptions) => Effect.Effect<Blob, S3Error, Scope.Scope>
  /**
   * The bytes of an object, or those of `range` (both ends inclusive), as a blob of their own. Fails with NoSuchKey, or
   * with OperationAborted when the object is no longer the one of `source`: then look at it again.
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
    condition?: Condition
  ) => Effect.Effect<ObjectInfo, S3Error>
  /** New metadata on the same bytes. Fails with NoSuchKey. */
  readonly setMeta: (
    bucket: string,
    key: string,
    meta: ObjectMeta,
    condition?: Condition
  ) => Effect.Effect<ObjectInfo, S3Error>
  /** Fails with NoSuchKey. */
  readonly head: (bucket: string, key: string) => Effect.Effect<ObjectInfo, S3Error>
  /**
   * `open` reads the bytes from `start` to `end`, both inclusive. They stay readable until the scope and every opened
   * stream are closed, even if the object is deleted or replaced meanwhile. Fails with NoSuchKey.
   */
  readonly get: (
    bucket: string,
    key: string
  ) => Effect.Effect<
    { readonly info: ObjectInfo; readonly open: (start: number, end: number) => Readable },
    S3Error,
    Scope.Scope
  >
  /** A missing key is no error, unless the condition asks for what is there. It holds for each of the keys. */
  readonly remove: (bucket: string, keys: ReadonlyArray<string>, condition?: Condition) => Effect.Effect<void, S3Error>
  /** In the order of the keys' UTF-8 bytes. */
  readonly list: (bucket: string, options: ListOptions) => Effect.Effect<Listing, S3Error>

  /** The id of a new upload: unguessable, of hex digits. */
  readonly createUpload: (bucket: string, key: string, meta: ObjectMeta) => Effect.Effect<string, S3Error>
  /** Fails with NoSuchUpload, as all below do. */
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
  /** Those with a higher number than `after`. */
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
   * Makes the object of the parts in one step, with the metadata of `createUpload` and with `checksum` as its own (none
   * when absent: the one of `createUpload` only announces). Fails with InvalidPart, InvalidPartOrder, EntityTooSmall
   * (under 5 MiB, except the last), PreconditionFailed. Asked again within an hour, it answers the same object.
   */
  readonly completeUpload: (
    bucket: string,
    key: string,
    uploadId: string,
    parts: ReadonlyArray<CompletedPart>,
    condition?: Condition,
    checksum?: Checksum
  ) => Effect.Effect<ObjectInfo, S3Error>
  readonly abortUpload: (bucket: string, key: string, uploadId: string) => Effect.Effect<void, S3Error>
}
