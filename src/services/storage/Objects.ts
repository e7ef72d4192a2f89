import { Context, Effect, Layer, RcMap, Semaphore } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import {
  changedRecord,
  maxMetadataBytes,
  type MetadataChange,
  metadataBytes,
  type ObjectRecord
} from "../../domain/storage/Metadata.ts"
import { type BulkDeleted, byteLength, type ObjectPage } from "../../domain/storage/Object.ts"
import { ObjectStore, type PageOptions, type Presigned, type StoreError } from "../ports/ObjectStore.ts"

/** How often a change of metadata starts over because the object was replaced meanwhile. */
const changeTries = 5

type Asked<A> = Effect.Effect<A, StoreError>

export interface Uploaded {
  readonly bucket: string
  readonly key: string
  /** In bytes. */
  readonly size: number
  readonly etag: string
}

/** Objects: their lists, metadata, small uploads, and URLs for the large ones (spec: Storage). */
export class StorageObjects extends Context.Service<
  StorageObjects,
  {
    readonly list: (bucket: string, options: PageOptions) => Asked<ObjectPage>
    readonly uploadText: (bucket: string, key: string, content: string, contentType: string) => Asked<Uploaded>
    /** The bucket must be there. */
    readonly presignUpload: (bucket: string, key: string, contentType: string, seconds: number) => Asked<Presigned>
    /** The object must be there. */
    readonly presignDownload: (bucket: string, key: string, seconds: number) => Asked<Presigned>
    /** An object that is not there is as good as deleted. */
    readonly remove: (bucket: string, key: string) => Asked<void>
    readonly removeMany: (bucket: string, keys: ReadonlyArray<string>) => Asked<BulkDeleted>
    readonly record: (bucket: string, key: string) => Asked<ObjectRecord>
    /** Never loses an object that is uploaded meanwhile. */
    readonly change: (bucket: string, change: MetadataChange) => Asked<ObjectRecord>
  }
>()("svc/services/StorageObjects") {
  static readonly layer = Layer.effect(
    StorageObjects,
    Effect.gen(function* () {
      const store = yield* ObjectStore
      // Changes of one object go one after the other: the ETag stays, so the store could not tell the second from one
      // that has seen the first.
      const turns = yield* RcMap.make<string, Semaphore.Semaphore, never, never>({ lookup: () => Semaphore.make(1) })

      const changeOnce = Effect.fnUntraced(function* (bucket: string, change: MetadataChange) {
        const record = changedRecord(yield* store.record(bucket, change.key), change)
        const bytes = metadataBytes(record.metadata)
        if (bytes > maxMetadataBytes) {
          return yield* new InvalidRequest({
            error: `The names and values of metadata may have ${maxMetadataBytes} bytes together, not ${bytes}`,
            code: "METADATA_TOO_LARGE"
          })
        }
        yield* store.setRecord(bucket, record)
        return yield* store.record(bucket, change.key)
      })

      return StorageObjects.of({
        list: store.list,

        uploadText: Effect.fn("StorageObjects.uploadText")(function* (bucket, key, content, contentType) {
          const { etag } = yield* store.put(bucket, key, contentType, new TextEncoder().encode(content))
          return { bucket, key, size: byteLength(content), etag }
        }),

        presignUpload: (bucket, key, contentType, seconds) =>
          Effect.andThen(store.findBucket(bucket), store.presignUpload(bucket, key, contentType, seconds)),

        presignDownload: (bucket, key, seconds) =>
          Effect.andThen(store.record(bucket, key), store.presignDownload(bucket, key, seconds)),

        remove: store.remove,

        removeMany: (bucket, keys) => store.removeMany(bucket, Array.from(new Set(keys))),

        record: store.record,

        change: Effect.fn("StorageObjects.change")(function* (bucket, change) {
          const turn = yield* RcMap.get(turns, `${bucket}/${change.key}`)
          return yield* changeOnce(bucket, change).pipe(
            Effect.retry({ while: ({ code }) => code === "OBJECT_CHANGED", times: changeTries - 1 }),
            turn.withPermit
          )
        }, Effect.scoped)
      })
    })
  )
}
