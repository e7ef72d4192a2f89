import { Effect, Layer, Stream } from "effect"
import { Conflict, NotFound } from "../../../src/domain/errors.ts"
import { type Bucket } from "../../../src/domain/storage/Bucket.ts"
import { ObjectStore, type StoreCall, type Stored, type StoreError } from "../../../src/services/ports/ObjectStore.ts"

/** An in-memory ObjectStore with buckets and whole objects; tests can replace its calls in `now`, and `mend` restores them. */
export const makeBucketsFake = () => {
  /** By name; buckets in `full` are not empty. */
  const buckets = new Map<string, Bucket>()
  const full = new Set<string>()
  /** By `bucket/key`. */
  const objects = new Map<string, Uint8Array>()
  const add = (name: string, created_at = new Date().toISOString()): Bucket => {
    const bucket = { name, created_at }
    buckets.set(name, bucket)
    return bucket
  }
  const exists = (name: string): StoreCall<void> =>
    buckets.has(name) ? Effect.void : Effect.fail(new NotFound({ error: "No bucket", code: "BUCKET_NOT_FOUND" }))
  const found = (bucket: string, key: string): StoreCall<Uint8Array> =>
    Effect.suspend(() => {
      const bytes = objects.get(`${bucket}/${key}`)
      return bytes === undefined
        ? Effect.fail(new NotFound({ error: "No object", code: "OBJECT_NOT_FOUND" }))
        : Effect.succeed(bytes)
    })
  const store = (bucket: string, key: string, bytes: Uint8Array) =>
    Effect.as(
      Effect.tap(
        exists(bucket),
        Effect.sync(() => void objects.set(`${bucket}/${key}`, bytes))
      ),
      { etag: '"e"' }
    )
  const plain = {
    put: (bucket: string, key: string, _type: string, bytes: Uint8Array): StoreCall<Stored> =>
      store(bucket, key, bytes),
    putStream: <E>(
      bucket: string,
      key: string,
      _type: string,
      bytes: Stream.Stream<Uint8Array, E>
    ): Effect.Effect<Stored, StoreError | E> =>
      Effect.flatMap(Stream.runCollect(bytes), (all) => store(bucket, key, Buffer.concat(all))),
    read: (
      bucket: string,
      key: string,
      range?: { first: number; last: number }
    ): Stream.Stream<Uint8Array, StoreError> =>
      Stream.fromEffect(
        Effect.map(found(bucket, key), (all) => (range === undefined ? all : all.subarray(range.first, range.last + 1)))
      ),
    remove: (bucket: string, key: string): StoreCall<void> =>
      Effect.sync(() => void objects.delete(`${bucket}/${key}`)),
    buckets: Effect.sync(() => [...buckets.values()]) as StoreCall<ReadonlyArray<Bucket>>,
    findBucket: (name: string): StoreCall<void> => Effect.suspend(() => exists(name)),
    createBucket: (name: string): StoreCall<Bucket> =>
      Effect.suspend(() =>
        buckets.has(name)
          ? Effect.fail(new Conflict({ error: "A bucket", code: "BUCKET_EXISTS" }))
          : Effect.succeed(add(name))
      ),
    deleteBucket: (name: string): StoreCall<void> =>
      Effect.suspend(() =>
        full.has(name)
          ? Effect.fail(new Conflict({ error: "Not empty", code: "BUCKET_NOT_EMPTY" }))
          : Effect.tap(
              exists(name),
              Effect.sync(() => void buckets.delete(name))
            )
      )
  }
  const now = { ...plain }
  const layer = Layer.mock(ObjectStore, {
    publicOrigin: "http://store.example",
    admitsPages: () => false,
    put: (bucket, key, type, bytes) => Effect.suspend(() => now.put(bucket, key, type, bytes)),
    putStream: (bucket, key, type, bytes) => Effect.suspend(() => now.putStream(bucket, key, type, bytes)),
    read: (bucket, key, range) => Stream.suspend(() => now.read(bucket, key, range)),
    remove: (bucket, key) => Effect.suspend(() => now.remove(bucket, key)),
    record: (bucket, key) =>
      Effect.map(found(bucket, key), ({ length }) => ({
        key,
        size: length,
        etag: '"e"',
        last_modified: "",
        content_type: "application/octet-stream",
        content_disposition: null,
        cache_control: null,
        content_encoding: null,
        content_language: null,
        expires: null,
        metadata: {}
      })),
    listed: (bucket) =>
      Stream.fromIterable(
        [...objects]
          .filter(([place]) => place.startsWith(`${bucket}/`))
          .map(([place, { length }]) => ({ key: place.slice(bucket.length + 1), size: length, etag: "e" }))
          .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      ),
    buckets: Effect.suspend(() => now.buckets),
    findBucket: (name) => Effect.suspend(() => now.findBucket(name)),
    createBucket: (name) => Effect.suspend(() => now.createBucket(name)),
    deleteBucket: (name) => Effect.suspend(() => now.deleteBucket(name)),
    locationOf: (bucket, key) => `memory:${bucket}/${key}`
  })
  return { buckets, full, objects, add, plain, now, layer, mend: () => Object.assign(now, plain) }
}
