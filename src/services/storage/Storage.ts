import { Context, Effect, Layer, RcMap, Schedule, Semaphore } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { type BucketPolicy, type CorsRule } from "../../domain/storage/Bucket.ts"
import {
  changedRecord,
  maxMetadataBytes,
  type MetadataChange,
  metadataBytes,
  type ObjectRecord
} from "../../domain/storage/Metadata.ts"
import { type BulkDeleted, byteLength } from "../../domain/storage/Object.ts"
import { type ObjectReads, ObjectStore, type Presigned, type StoreCall, type UploadRef } from "../ports/ObjectStore.ts"

/**
 * A check before a URL is signed. A policy may deny the service what it allows the user of the URL, for example by address
 * or referrer, so the store decides when the URL is used.
 */
const unlessDenied = <A>(check: StoreCall<A>) =>
  Effect.catchIf(
    Effect.asVoid(check),
    ({ code }) => code === "STORE_ACCESS_DENIED",
    () => Effect.void
  )

/** How often a bucket is emptied if objects keep being added. */
const emptyAttempts = 3

/** How often a metadata change is tried if the object keeps being replaced. */
const changeAttempts = 5

export interface Uploaded {
  readonly bucket: string
  readonly key: string
  /** Bytes. */
  readonly size: number
  readonly etag: string
}

/** The time whose objects a request reads; undefined: those of now. */
export const ObjectsMoment = Context.Reference<Date | undefined>("svc/services/ObjectsMoment", {
  defaultValue: () => undefined
})

/** Storage operations beyond a single call to ObjectStore, which the handlers use directly otherwise (spec: Storage). */
export class Storage extends Context.Service<
  Storage,
  {
    /** The objects that the request reads, by `ObjectsMoment`. */
    readonly reads: Effect.Effect<ObjectReads>
    /** `force` empties the bucket first, which may take long. Otherwise Conflict BUCKET_NOT_EMPTY if it is not empty. */
    readonly deleteBucket: (bucket: string, force: boolean) => StoreCall<void>
    /** null deletes the policy. Returns the policy as stored. */
    readonly setPolicy: (bucket: string, policy: BucketPolicy | null) => StoreCall<BucketPolicy | null>
    /** Returns the rules as stored. */
    readonly setCors: (bucket: string, rules: ReadonlyArray<CorsRule>) => StoreCall<ReadonlyArray<CorsRule>>
    readonly uploadText: (bucket: string, key: string, content: string, contentType: string) => StoreCall<Uploaded>
    /** The bucket must exist. */
    readonly presignUpload: (
      bucket: string,
      key: string,
      contentType: string,
      seconds: number,
      size?: number
    ) => StoreCall<Presigned>
    /** The object must exist. */
    readonly presignDownload: (bucket: string, key: string, seconds: number) => StoreCall<Presigned>
    /** The upload must exist. */
    readonly presignPart: (upload: UploadRef, partNumber: number, seconds: number) => StoreCall<Presigned>
    /** Deletes at most 1000 keys; duplicates are ignored. */
    readonly deleteObjects: (bucket: string, keys: ReadonlyArray<string>) => StoreCall<BulkDeleted>
    /** Never overwrites an object that is uploaded in the meantime. */
    readonly changeMetadata: (bucket: string, change: MetadataChange) => StoreCall<ObjectRecord>
  }
>()("svc/services/Storage") {
  static readonly layer = Layer.effect(
    Storage,
    Effect.gen(function* () {
      const store = yield* ObjectStore
      // Changes to one object run one after the other: a change keeps the ETag, so the store can't detect that another
      // change was based on older metadata.
      const locks = yield* RcMap.make<string, Semaphore.Semaphore, never, never>({ lookup: () => Semaphore.make(1) })

      const reads = Effect.flatMap(ObjectsMoment, (moment): Effect.Effect<ObjectReads> =>
        moment === undefined ? Effect.succeed(store) : store.at(moment)
      )

      const emptyAndDelete = (bucket: string) =>
        Effect.andThen(store.emptyBucket(bucket), store.deleteBucket(bucket)).pipe(
          Effect.retry({
            while: ({ code }) => code === "BUCKET_NOT_EMPTY",
            schedule: Schedule.recurs(emptyAttempts - 1)
          })
        )

      const changeOnce = Effect.fnUntraced(function* (bucket: string, change: MetadataChange) {
        const record = changedRecord(yield* store.record(bucket, change.key), change)
        const bytes = metadataBytes(record.metadata)
        if (bytes > maxMetadataBytes) {
          return yield* new InvalidRequest({
            error: `The names and values of the metadata have ${bytes} bytes; the maximum is ${maxMetadataBytes}`,
            code: "METADATA_TOO_LARGE"
          })
        }
        yield* store.setRecord(bucket, record)
        return yield* store.record(bucket, change.key)
      })

      return Storage.of({
        reads,

        deleteBucket: Effect.fn("Storage.deleteBucket")((bucket: string, force: boolean) =>
          force ? emptyAndDelete(bucket) : store.deleteBucket(bucket)
        ),

        setPolicy: Effect.fn("Storage.setPolicy")((bucket: string, policy: BucketPolicy | null) =>
          Effect.andThen(store.setPolicy(bucket, policy), store.policy(bucket))
        ),

        setCors: Effect.fn("Storage.setCors")((bucket: string, rules: ReadonlyArray<CorsRule>) =>
          Effect.andThen(store.setCors(bucket, rules), store.cors(bucket))
        ),

        uploadText: Effect.fn("Storage.uploadText")(function* (bucket, key, content, contentType) {
          const { etag } = yield* store.put(bucket, key, contentType, new TextEncoder().encode(content))
          return { bucket, key, size: byteLength(content), etag }
        }),

        presignUpload: (bucket, key, contentType, seconds, size) =>
          Effect.andThen(
            unlessDenied(store.findBucket(bucket)),
            store.presignUpload(bucket, key, contentType, seconds, size)
          ),

        presignDownload: (bucket, key, seconds) =>
          Effect.flatMap(reads, (objects) =>
            Effect.andThen(unlessDenied(objects.record(bucket, key)), objects.presignDownload(bucket, key, seconds))
          ),

        presignPart: (upload, partNumber, seconds) =>
          Effect.andThen(unlessDenied(store.parts(upload, 1)), store.presignPart(upload, partNumber, seconds)),

        deleteObjects: (bucket, keys) => store.removeMany(bucket, Array.from(new Set(keys))),

        changeMetadata: Effect.fn("Storage.changeMetadata")(function* (bucket, change) {
          const lock = yield* RcMap.get(locks, `${bucket}/${change.key}`)
          return yield* changeOnce(bucket, change).pipe(
            Effect.retry({ while: ({ code }) => code === "OBJECT_CHANGED", times: changeAttempts - 1 }),
            lock.withPermit
          )
        }, Effect.scoped)
      })
    })
  )
}
