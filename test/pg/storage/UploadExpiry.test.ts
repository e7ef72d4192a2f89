import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { uploadsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerObjectStore } from "../../../src/layers/storage/client/ObjectStore.ts"
import { layerEmbeddedS3 } from "../../../src/layers/storage/Embedded.ts"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { abortOldUploads, uploadDays } from "../../../src/services/storage/UploadExpiry.ts"
import { layerDatabase, live, session } from "../../support/database.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"

const layerStore = layerObjectStore.pipe(
  Layer.provide(layerEmbeddedS3),
  Layer.provide(
    Layer.unwrap(
      Effect.map(
        Effect.acquireRelease(Effect.promise(makeDataDir), (path) => Effect.promise(() => removeDataDir(path))),
        DataDir.at
      )
    )
  ),
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ S3_EMBEDDED_PORT: "0" })))
)

const uploadsOf = (bucket: string) =>
  Effect.flatMap(ObjectStore, (store) =>
    Effect.map(store.uploads(bucket, { prefix: "", limit: 1000, token: undefined }), ({ uploads }) =>
      uploads.map(({ key }) => key)
    )
  )

layer(Layer.mergeAll(layerStore, layerDatabase({ name: "uploads" })), live)("open uploads", (it) => {
  it.effect("are aborted in all buckets once they are old, by one replica at a time", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      for (const bucket of ["one", "two"]) {
        yield* store.createBucket(bucket)
        for (const key of ["a", "a", "b/../c"]) yield* store.createUpload(bucket, key, "a/b")
      }
      yield* abortOldUploads(1)
      assert.deepStrictEqual(yield* uploadsOf("one"), ["a", "a", "b/../c"])

      const other = yield* session
      yield* other(`select pg_advisory_lock(${uploadsLock})`)
      yield* abortOldUploads(0)
      assert.lengthOf(yield* uploadsOf("two"), 3)
      yield* other(`select pg_advisory_unlock(${uploadsLock})`)

      yield* abortOldUploads(0)
      assert.deepStrictEqual([...(yield* uploadsOf("one")), ...(yield* uploadsOf("two"))], [])
      // The lock is free again.
      assert.deepStrictEqual(yield* other(`select pg_try_advisory_lock(${uploadsLock}) as free`), [{ free: true }])
    })
  )

  it.effect("are kept for a week in the embedded store, and without end in another one", () =>
    Effect.gen(function* () {
      const days = (env: Record<string, string>) =>
        Effect.provide(uploadDays, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
      assert.strictEqual(yield* days({}), 7)
      assert.strictEqual(yield* days({ S3_ENDPOINT: "https://s3.example.com" }), 0)
      assert.strictEqual(yield* days({ S3_ENDPOINT: "https://s3.example.com", S3_UPLOAD_DAYS: "30" }), 30)
      assert.match(String(yield* Effect.flip(days({ S3_UPLOAD_DAYS: "-1" }))), /S3_UPLOAD_DAYS/)
    })
  )
})
