import { Effect, Layer } from "effect"
import { ObjectStore } from "../../../services/ports/ObjectStore.ts"
import { makeBuckets } from "./Buckets.ts"
import { makeS3 } from "./Client.ts"
import { type CopyLimits, makeSetRecord, s3CopyLimits } from "./Copy.ts"
import { makeEmptyBucket, makeRemoval } from "./Removal.ts"
import { makeListed } from "./Listed.ts"
import { makeHead, makeObjects, objectRecordOf } from "./Objects.ts"
import { makeKeptObjects, makeVersionedObjects } from "./PastObjects.ts"
import { makeStreams } from "./Streams.ts"
import { makeUploads } from "./Uploads.ts"
import { uriEncodePath } from "../../../domain/text/UriText.ts"

/** The store with other limits than S3's, so that tests can copy in parts without gigabytes. */
export const layerObjectStoreWith = (limits: CopyLimits) =>
  Layer.effect(
    ObjectStore,
    Effect.gen(function* () {
      const s3 = yield* makeS3
      const { admitsPages, forcePathStyle, publicEndpoint } = s3.address
      const buckets = makeBuckets(s3)
      const removal = makeRemoval(s3)
      const head = makeHead(s3, buckets.findBucket)
      const objects = makeObjects(s3)
      const uploads = makeUploads(s3)

      return ObjectStore.of({
        publicOrigin: new URL(publicEndpoint).origin,
        admitsPages,
        ...buckets,
        ...objects,
        ...uploads,
        ...makeStreams(s3, { ...objects, ...uploads }),
        emptyBucket: makeEmptyBucket(s3, removal),
        remove: removal.remove,
        removeMany: Effect.fn("ObjectStore.bulkDelete")(function* (bucket, keys) {
          const errors = yield* removal.removeMany(
            bucket,
            keys.map((key) => ({ Key: key }))
          )
          const left = new Set(errors.map(({ key }) => key))
          return { deleted: keys.filter((key) => !left.has(key)), errors }
        }),
        record: (bucket, key) => Effect.map(head(bucket, key), (found) => objectRecordOf(key, found)),
        setRecord: makeSetRecord(s3, limits, head),
        listed: makeListed(s3, objects.list),
        at: (moment) =>
          Effect.sync(() =>
            s3.address.isEmbedded === true ? makeKeptObjects(s3, moment) : makeVersionedObjects(s3, moment)
          ),
        locationOf: (bucket, key) => {
          const { host, protocol } = new URL(publicEndpoint)
          const start = forcePathStyle ? `${protocol}//${host}/${bucket}` : `${protocol}//${bucket}.${host}`
          return `${start}/${uriEncodePath(key)}`
        }
      })
    })
  )

/** The S3-compatible store at ObjectStoreAddress. */
export const layerObjectStore = layerObjectStoreWith(s3CopyLimits)
