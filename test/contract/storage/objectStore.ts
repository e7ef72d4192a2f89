import { assert, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type ObjectRecord } from "../../../src/domain/storage/Metadata.ts"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { bucketOf, every, keys, keysOf, refusal, text } from "../../support/storage/objects.ts"
import { storedObjects } from "./objects.ts"
import { storedTransfers } from "./transfers.ts"

/**
 * The contract of the port for every store. `whole`: the layer's limit for undivided copies, in bytes. `versioned`: buckets
 * keep versions.
 */
export const objectStoreContract = <E>(
  name: string,
  store: Layer.Layer<ObjectStore, E>,
  whole: number,
  versioned = false
) =>
  layer(store, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    it.effect("creates, lists and deletes buckets", () =>
      Effect.gen(function* () {
        const store = yield* ObjectStore
        const bucket = yield* bucketOf
        yield* store.findBucket(bucket)
        const found = (yield* store.buckets).find(({ name }) => name === bucket)
        assert.closeTo(Date.parse(found?.created_at ?? ""), Date.now(), 60_000)
        assert.strictEqual(yield* refusal(store.createBucket(bucket)), "409 BUCKET_EXISTS")
        yield* store.put(bucket, "k", "text/plain", text("x"))
        assert.strictEqual(yield* refusal(store.deleteBucket(bucket)), "409 BUCKET_NOT_EMPTY")
        yield* store.remove(bucket, "k")
        if (versioned) {
          assert.strictEqual(yield* refusal(store.deleteBucket(bucket)), "409 BUCKET_NOT_EMPTY")
          yield* store.emptyBucket(bucket)
        }
        yield* store.deleteBucket(bucket)
        assert.strictEqual(yield* refusal(store.findBucket(bucket)), "404 BUCKET_NOT_FOUND")
        assert.isFalse((yield* store.buckets).some(({ name }) => name === bucket))
      })
    )

    it.effect("reports whether the bucket, object or upload is missing", () =>
      Effect.gen(function* () {
        const store = yield* ObjectStore
        const bucket = yield* bucketOf
        const none = "contract-no-such-bucket"
        const record: ObjectRecord = {
          key: "k",
          size: 1,
          etag: '"e"',
          last_modified: "",
          content_type: "a/b",
          content_disposition: null,
          cache_control: null,
          content_encoding: null,
          content_language: null,
          expires: null,
          metadata: {}
        }
        const noBucket = [
          store.deleteBucket(none),
          store.emptyBucket(none),
          store.policy(none),
          store.setPolicy(none, null),
          store.cors(none),
          store.setCors(none, []),
          store.list(none, { ...every, limit: 1 }),
          store.put(none, "k", "a/b", text("x")),
          store.remove(none, "k"),
          store.removeMany(none, ["k"]),
          store.record(none, "k"),
          store.setRecord(none, record),
          store.createUpload(none, "k", "a/b")
        ]
        for (const [index, effect] of noBucket.entries()) {
          assert.strictEqual(yield* refusal<unknown, never>(effect), "404 BUCKET_NOT_FOUND", String(index))
        }
        assert.strictEqual(yield* refusal(store.record(bucket, "k")), "404 OBJECT_NOT_FOUND")
        assert.strictEqual(yield* refusal(store.setRecord(bucket, record)), "404 OBJECT_NOT_FOUND")
        const upload = { bucket, key: "k", uploadId: "no-such-upload" }
        const parts = [{ partNumber: 1, etag: "900150983cd24fb0d6963f7d28e17f72" }]
        assert.strictEqual(yield* refusal(store.parts(upload, 10)), "404 UPLOAD_NOT_FOUND")
        assert.strictEqual(yield* refusal(store.completeUpload(upload, parts)), "404 UPLOAD_NOT_FOUND")
        assert.strictEqual(yield* refusal(store.abortUpload(upload)), "404 UPLOAD_NOT_FOUND")
        // As in S3, deleting an object that does not exist succeeds.
        yield* store.remove(bucket, "k")
        assert.deepStrictEqual(yield* store.removeMany(bucket, ["k"]), { deleted: ["k"], errors: [] })
      })
    )

    it.effect("empties a bucket of objects and open uploads", () =>
      Effect.gen(function* () {
        const store = yield* ObjectStore
        const bucket = yield* bucketOf
        const some = [...keys, ...Array.from({ length: 1010 }, (_, n) => `o/${n}`)]
        yield* Effect.forEach(some, (key) => store.put(bucket, key, "a/b", text("x")), { concurrency: 16 })
        const uploads = yield* Effect.forEach(
          keys,
          (key) => Effect.map(store.createUpload(bucket, key, "a/b"), (uploadId) => ({ bucket, key, uploadId })),
          { concurrency: 8 }
        )
        yield* store.emptyBucket(bucket)
        assert.deepStrictEqual(yield* keysOf(bucket), [])
        for (const upload of uploads) {
          assert.strictEqual(yield* refusal(store.parts(upload, 1)), "404 UPLOAD_NOT_FOUND", upload.key)
        }
        yield* store.deleteBucket(bucket)
      })
    )

    it.effect("stores policies and CORS rules", () =>
      Effect.gen(function* () {
        const store = yield* ObjectStore
        const bucket = yield* bucketOf
        assert.isNull(yield* store.policy(bucket))
        assert.deepStrictEqual(yield* store.cors(bucket), [])
        const policy = {
          Version: "2012-10-17" as const,
          Statement: [
            {
              Sid: "read",
              Effect: "Allow" as const,
              Principal: "*" as const,
              Action: ["s3:GetObject"],
              Resource: [`arn:aws:s3:::${bucket}/*`]
            }
          ]
        }
        yield* store.setPolicy(bucket, policy)
        assert.deepStrictEqual<unknown>(yield* store.policy(bucket), policy)
        yield* store.put(bucket, "open", "text/plain", text("for all"))
        const open = yield* Effect.promise(() => fetch(store.locationOf(bucket, "open")))
        assert.strictEqual(open.status, 200)
        yield* store.setPolicy(bucket, null)
        assert.isNull(yield* store.policy(bucket))
        assert.strictEqual((yield* Effect.promise(() => fetch(store.locationOf(bucket, "open")))).status, 403)
        const foreign = { ...policy, Statement: [{ ...policy.Statement[0]!, Resource: "arn:aws:s3:::other/*" }] }
        assert.strictEqual(yield* refusal(store.setPolicy(bucket, foreign)), "400 INVALID_POLICY")

        const rules = [
          { AllowedOrigins: ["https://a.example"], AllowedMethods: ["GET" as const], MaxAgeSeconds: 0 },
          {
            ID: "second",
            AllowedOrigins: ["*"],
            AllowedMethods: ["PUT" as const, "POST" as const],
            AllowedHeaders: ["*"],
            ExposeHeaders: ["ETag"]
          }
        ]
        yield* store.setCors(bucket, rules)
        assert.deepStrictEqual<unknown>(yield* store.cors(bucket), rules)
        yield* store.setCors(bucket, [])
        assert.deepStrictEqual(yield* store.cors(bucket), [])
      })
    )

    storedObjects(it)
    storedTransfers(it, whole)
  })
