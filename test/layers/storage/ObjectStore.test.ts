import { PutBucketVersioningCommand, S3Client } from "@aws-sdk/client-s3"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { vi } from "vitest"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerExternalS3, ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { layerEmbeddedS3 } from "../../../src/layers/storage/Embedded.ts"
import { layerObjectStoreWith } from "../../../src/layers/storage/client/ObjectStore.ts"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { objectStoreContract } from "../../contract/storage/objectStore.ts"
import { otherStore } from "../../support/storage/external.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"

vi.setConfig({ testTimeout: 60_000 })

/** Low, so that copies in parts don't need gigabytes; S3 requires 5 MiB per part. */
const limits = { whole: 6 * 1024 * 1024, part: 5 * 1024 * 1024 }

const layerDataDir = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(Effect.promise(makeDataDir), (path) => Effect.promise(() => removeDataDir(path))),
    DataDir.at
  )
)
const settings = (env: Readonly<Record<string, string>>) => ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))

const embedded = layerObjectStoreWith(limits).pipe(
  Layer.provideMerge(layerEmbeddedS3),
  Layer.provide(layerDataDir),
  Layer.provide(settings({ S3_EMBEDDED_PORT: "0" }))
)

objectStoreContract("the embedded store", embedded, limits.whole)

/** A store that keeps all versions in each new bucket. */
const layerVersioned = Layer.effect(
  ObjectStore,
  Effect.gen(function* () {
    const store = yield* ObjectStore
    const { accessKey, endpoint, secretKey } = yield* ObjectStoreAddress
    const credentials = { accessKeyId: accessKey, secretAccessKey: Redacted.value(secretKey) }
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials })),
      (client) => Effect.sync(() => client.destroy())
    )
    const VersioningConfiguration = { Status: "Enabled" } as const
    return ObjectStore.of({
      ...store,
      createBucket: (bucket) =>
        Effect.tap(store.createBucket(bucket), () =>
          Effect.promise(() => client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration })))
        )
    })
  })
)

objectStoreContract("buckets with versioning", Layer.provide(layerVersioned, embedded), limits.whole, true)

if (otherStore !== undefined) {
  objectStoreContract(
    "the store of S3_TEST_ENDPOINT",
    layerObjectStoreWith(limits).pipe(Layer.provide(layerExternalS3), Layer.provide(settings(otherStore))),
    limits.whole
  )
}
