import { Effect, Layer } from "effect"
import { ObjectStore } from "../../../services/ports/ObjectStore.ts"
import { bucketsOn } from "./Buckets.ts"
import { encodedKey, makeS3 } from "./Client.ts"
import { type CopyLimits, copyOn, s3CopyLimits } from "./Copy.ts"
import { emptyingOn, removalOn } from "./Removal.ts"
import { headOn, objectsOn, recordOf } from "./Objects.ts"
import { streamsOn } from "./Streams.ts"
import { uploadsOn } from "./Uploads.ts"

/** With limits other than S3's, where copies in parts are to be seen without gigabytes. */
export const layerObjectStoreWith = (limits: CopyLimits) =>
  Layer.effect(
    ObjectStore,
    Effect.gen(function* () {
      const s3 = yield* makeS3
      const { forcePathStyle, publicEndpoint } = s3.address
      const buckets = bucketsOn(s3)
      const removal = removalOn(s3)
      const head = headOn(s3, buckets.findBucket)
      const objects = objectsOn(s3)
      const uploads = uploadsOn(s3)

      return ObjectStore.of({
        ...buckets,
        ...objects,
        ...uploads,
        ...streamsOn(s3, { ...objects, ...uploads }),
        emptyBucket: emptyingOn(s3, removal),
        remove: removal.remove,
        removeMany: Effect.fn("ObjectStore.bulkDelete")(function* (bucket, keys) {
          const errors = yield* removal.removeMany(
            bucket,
            keys.map((key) => ({ Key: key }))
          )
          const left = new Set(errors.map(({ key }) => key))
          return { deleted: keys.filter((key) => !left.has(key)), errors }
        }),
        record: (bucket, key) => Effect.map(head(bucket, key), (found) => recordOf(key, found)),
        setRecord: copyOn(s3, limits, head),
        locationOf: (bucket, key) => {
          const { host, protocol } = new URL(publicEndpoint)
          const start = forcePathStyle ? `${protocol}//${host}/${bucket}` : `${protocol}//${bucket}.${host}`
          return `${start}/${encodedKey(key)}`
        }
      })
    })
  )

/** The S3-compatible store at ObjectStoreAddress, whoever runs it. */
export const layerObjectStore = layerObjectStoreWith(s3CopyLimits)
