import { Context, type Effect, type Stream } from "effect"
import {
  type BadGateway,
  type Conflict,
  type Forbidden,
  type GatewayTimeout,
  type InvalidRequest,
  type NotFound,
  type Unavailable
} from "../../domain/errors.ts"
import { type Bucket, type BucketPolicy, type CorsRule } from "../../domain/storage/Bucket.ts"
import { type ObjectRecord } from "../../domain/storage/Metadata.ts"
import {
  type BulkDeleted,
  type CompletedParts,
  type ObjectPage,
  type ObjectTags,
  type UploadPage,
  type UploadedPart
} from "../../domain/storage/Object.ts"

/** The store is unreachable, slow or overloaded, or it rejected the credentials or the request. */
export type StoreError = InvalidRequest | Forbidden | NotFound | Conflict | BadGateway | Unavailable | GatewayTimeout

export type StoreCall<A> = Effect.Effect<A, StoreError>

export interface PageOptions {
  readonly prefix: string
  /** Keys that contain it after the prefix are grouped into a common prefix; undefined: no grouping. */
  readonly delimiter: string | undefined
  readonly limit: number
  readonly token: string | undefined
}

export interface Stored {
  readonly etag: string
}

/** A URL that authorizes its holder for one operation until it expires. */
export interface Presigned {
  readonly url: string
  readonly expiresAt: Date
}

/** Identifies a multipart upload. */
export interface UploadRef {
  readonly bucket: string
  readonly key: string
  readonly uploadId: string
}

/** An object in a listing. */
export interface ListedObject {
  readonly key: string
  /** Bytes. */
  readonly size: number
  /** Without quotes. */
  readonly etag: string
  /** Its version, in a bucket that keeps them. */
  readonly version?: string | undefined
}

/** Reads of objects, as they are now or were at an earlier time. */
export interface ObjectReads {
  /** Sorted by name. */
  readonly buckets: StoreCall<ReadonlyArray<Bucket>>
  /** Sorted by the UTF-8 bytes of the keys. */
  readonly list: (bucket: string, options: PageOptions) => StoreCall<ObjectPage>
  readonly record: (bucket: string, key: string) => StoreCall<ObjectRecord>
  readonly tags: (bucket: string, key: string) => StoreCall<ObjectTags>
  /** `seconds`: 1–604800. */
  readonly presignDownload: (bucket: string, key: string, seconds: number) => StoreCall<Presigned>
}

/**
 * Port: the S3-compatible store. Names and keys are not validated here; callers validate them. A missing bucket, object
 * or upload is NotFound (BUCKET_NOT_FOUND, OBJECT_NOT_FOUND, UPLOAD_NOT_FOUND).
 */
export class ObjectStore extends Context.Service<
  ObjectStore,
  {
    /** The origin of presigned URLs, as browsers reach the store. */
    readonly publicOrigin: string
    /** Whether browsers may use presigned URLs in pages of an origin without a CORS rule of the bucket. */
    readonly admitsPages: (origin: string) => boolean
    readonly buckets: ObjectReads["buckets"]
    readonly createBucket: (bucket: string) => StoreCall<Bucket>
    /** Conflict BUCKET_NOT_EMPTY unless the bucket is empty. */
    readonly deleteBucket: (bucket: string) => StoreCall<void>
    /** Deletes all objects, their versions and open uploads, which may take long. */
    readonly emptyBucket: (bucket: string) => StoreCall<void>
    /** Checks that the bucket exists. */
    readonly findBucket: (bucket: string) => StoreCall<void>

    readonly policy: (bucket: string) => StoreCall<BucketPolicy | null>
    /** null deletes the policy. */
    readonly setPolicy: (bucket: string, policy: BucketPolicy | null) => StoreCall<void>
    readonly cors: (bucket: string) => StoreCall<ReadonlyArray<CorsRule>>
    readonly setCors: (bucket: string, rules: ReadonlyArray<CorsRule>) => StoreCall<void>

    readonly list: ObjectReads["list"]
    readonly put: (bucket: string, key: string, contentType: string, bytes: Uint8Array) => StoreCall<Stored>
    /** Buffers little of the stream. `size`: its length in bytes. Also fails as the stream does, leaving nothing behind. */
    readonly putStream: <E>(
      bucket: string,
      key: string,
      contentType: string,
      bytes: Stream.Stream<Uint8Array, E>,
      size: number
    ) => Effect.Effect<Stored, StoreError | E>
    /** `range`: the first and last byte, counted from 0. The request is sent when the stream runs. */
    readonly read: (
      bucket: string,
      key: string,
      range?: { readonly first: number; readonly last: number }
    ) => Stream.Stream<Uint8Array, StoreError>
    /** Succeeds if the object does not exist. */
    readonly remove: (bucket: string, key: string) => StoreCall<void>
    /** Removes at most 1000 keys, without duplicates. */
    readonly removeMany: (bucket: string, keys: ReadonlyArray<string>) => StoreCall<BulkDeleted>
    readonly record: ObjectReads["record"]
    /**
     * Replaces the object's metadata by the record's and keeps its bytes. Conflict OBJECT_CHANGED if its `etag` is no
     * longer the record's; the object is then unchanged.
     */
    readonly setRecord: (bucket: string, record: ObjectRecord) => StoreCall<void>
    readonly tags: ObjectReads["tags"]
    /** Replaces all tags of the object. */
    readonly setTags: (bucket: string, key: string, tags: ObjectTags) => StoreCall<void>

    /** `seconds`: 1–604800. All three sign without a request to the store. */
    readonly presignUpload: (
      bucket: string,
      key: string,
      contentType: string,
      seconds: number,
      /** The size in bytes that the upload must have; undefined: any. */
      size?: number
    ) => Effect.Effect<Presigned>
    readonly presignDownload: (bucket: string, key: string, seconds: number) => Effect.Effect<Presigned>
    readonly presignPart: (upload: UploadRef, partNumber: number, seconds: number) => Effect.Effect<Presigned>

    /** Returns the upload's id. */
    readonly createUpload: (bucket: string, key: string, contentType: string) => StoreCall<string>
    /** The parts uploaded so far by number, at most `limit`. */
    readonly parts: (upload: UploadRef, limit: number) => StoreCall<ReadonlyArray<UploadedPart>>
    readonly completeUpload: (upload: UploadRef, parts: CompletedParts) => StoreCall<Stored>
    /** The open uploads of a bucket by key, then by age. `token`: that of the page before. */
    readonly uploads: (bucket: string, options: Omit<PageOptions, "delimiter">) => StoreCall<UploadPage>
    readonly abortUpload: (upload: UploadRef) => StoreCall<void>

    /** All objects of a bucket, by the UTF-8 bytes of their keys, in as many requests as they need. */
    readonly listed: (bucket: string) => Stream.Stream<ListedObject, StoreError>
    /**
     * The objects of an earlier time. Conflict OBJECTS_NOT_KEPT if the store does not have them any more, or never kept them.
     */
    readonly at: (moment: Date) => Effect.Effect<ObjectReads>

    /** The object's unsigned URL. */
    readonly locationOf: (bucket: string, key: string) => string
  }
>()("svc/services/ObjectStore") {}
