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
  type UploadedPart
} from "../../domain/storage/Object.ts"

/** The store does not answer, not in time, or has enough for now; or it refuses us or what was asked. */
export type StoreError = InvalidRequest | Forbidden | NotFound | Conflict | BadGateway | Unavailable | GatewayTimeout

type Asked<A> = Effect.Effect<A, StoreError>

export interface PageOptions {
  readonly prefix: string
  /** Keys that have it after the prefix are told as a common prefix; none when undefined. */
  readonly delimiter: string | undefined
  readonly limit: number
  readonly token: string | undefined
}

export interface Stored {
  readonly etag: string
}

/** A URL that does one thing for whoever has it, until then. */
export interface Presigned {
  readonly url: string
  readonly expiresAt: Date
}

/** What of an upload a presigned URL is for. */
export interface UploadOf {
  readonly bucket: string
  readonly key: string
  readonly uploadId: string
}

/**
 * Port: the S3-compatible store. Names and keys are taken as they are, whoever calls has looked at them. A missing
 * bucket, object or upload is NotFound (BUCKET_NOT_FOUND, OBJECT_NOT_FOUND, UPLOAD_NOT_FOUND).
 */
export class ObjectStore extends Context.Service<
  ObjectStore,
  {
    /** By name. */
    readonly buckets: Asked<ReadonlyArray<Bucket>>
    readonly createBucket: (bucket: string) => Asked<Bucket>
    /** Conflict BUCKET_NOT_EMPTY when something is in it. */
    readonly deleteBucket: (bucket: string) => Asked<void>
    /** Takes out objects, their versions and uploads that are not complete; any number, so it may take long. */
    readonly emptyBucket: (bucket: string) => Asked<void>
    /** Only asks whether it is there. */
    readonly findBucket: (bucket: string) => Asked<void>

    readonly policy: (bucket: string) => Asked<BucketPolicy | null>
    /** null takes the policy away. */
    readonly setPolicy: (bucket: string, policy: BucketPolicy | null) => Asked<void>
    readonly cors: (bucket: string) => Asked<ReadonlyArray<CorsRule>>
    readonly setCors: (bucket: string, rules: ReadonlyArray<CorsRule>) => Asked<void>

    /** By key, in the order of UTF-8 bytes. */
    readonly list: (bucket: string, options: PageOptions) => Asked<ObjectPage>
    readonly put: (bucket: string, key: string, contentType: string, bytes: Uint8Array) => Asked<Stored>
    /** Holds little of it at a time. `size`: how many bytes will come. Fails as the stream does, too; nothing is left then. */
    readonly putStream: <E>(
      bucket: string,
      key: string,
      contentType: string,
      bytes: Stream.Stream<Uint8Array, E>,
      size: number
    ) => Effect.Effect<Stored, StoreError | E>
    /** `range`: the first and last byte, counted from 0. Asked for when it is run. */
    readonly read: (
      bucket: string,
      key: string,
      range?: { readonly first: number; readonly last: number }
    ) => Stream.Stream<Uint8Array, StoreError>
    /** An object that is not there is as good as deleted. */
    readonly remove: (bucket: string, key: string) => Asked<void>
    /** At most 1000, each once. */
    readonly removeMany: (bucket: string, keys: ReadonlyArray<string>) => Asked<BulkDeleted>
    readonly record: (bucket: string, key: string) => Asked<ObjectRecord>
    /**
     * Gives the object the record's metadata, leaving its bytes. Conflict OBJECT_CHANGED when its `etag` is no longer the
     * record's; the object is untouched then.
     */
    readonly setRecord: (bucket: string, record: ObjectRecord) => Asked<void>

    /** `seconds`: 1–604800. Nothing is asked of the store for the three of them. */
    readonly presignUpload: (
      bucket: string,
      key: string,
      contentType: string,
      seconds: number
    ) => Effect.Effect<Presigned>
    readonly presignDownload: (bucket: string, key: string, seconds: number) => Effect.Effect<Presigned>
    readonly presignPart: (upload: UploadOf, partNumber: number, seconds: number) => Effect.Effect<Presigned>

    /** Gives the upload's id. */
    readonly createUpload: (bucket: string, key: string, contentType: string) => Asked<string>
    /** All parts that have arrived, by number; not more than `limit`. */
    readonly parts: (upload: UploadOf, limit: number) => Asked<ReadonlyArray<UploadedPart>>
    readonly completeUpload: (upload: UploadOf, parts: CompletedParts) => Asked<Stored>
    readonly abortUpload: (upload: UploadOf) => Asked<void>

    /** Where clients find the object, unsigned. */
    readonly locationOf: (bucket: string, key: string) => string
  }
>()("svc/services/ObjectStore") {}
