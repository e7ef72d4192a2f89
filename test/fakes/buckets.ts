import { Effect, Layer } from "effect"
import { Conflict, NotFound } from "../../src/domain/errors.ts"
import { type Bucket } from "../../src/domain/StorageBucket.ts"
import { ObjectStore, type StoreError } from "../../src/services/ObjectStore.ts"

type Asked<A> = Effect.Effect<A, StoreError>

/** A store with nothing but buckets, in memory, whose calls a test can put others in place of. */
export const makeBucketsFake = () => {
  /** By name; what stands in `full` is not empty. */
  const buckets = new Map<string, Bucket>()
  const full = new Set<string>()
  const add = (name: string, created_at = new Date().toISOString()): Bucket => {
    const bucket = { name, created_at }
    buckets.set(name, bucket)
    return bucket
  }
  const there = (name: string): Asked<void> =>
    buckets.has(name) ? Effect.void : Effect.fail(new NotFound({ error: "No bucket", code: "BUCKET_NOT_FOUND" }))
  const plain = {
    buckets: Effect.sync(() => [...buckets.values()]) as Asked<ReadonlyArray<Bucket>>,
    findBucket: (name: string): Asked<void> => Effect.suspend(() => there(name)),
    createBucket: (name: string): Asked<Bucket> =>
      Effect.suspend(() =>
        buckets.has(name)
          ? Effect.fail(new Conflict({ error: "A bucket", code: "BUCKET_EXISTS" }))
          : Effect.succeed(add(name))
      ),
    deleteBucket: (name: string): Asked<void> =>
      Effect.suspend(() =>
        full.has(name)
          ? Effect.fail(new Conflict({ error: "Not empty", code: "BUCKET_NOT_EMPTY" }))
          : Effect.tap(
              there(name),
              Effect.sync(() => void buckets.delete(name))
            )
      )
  }
  const now = { ...plain }
  const layer = Layer.mock(ObjectStore, {
    buckets: Effect.suspend(() => now.buckets),
    findBucket: (name) => Effect.suspend(() => now.findBucket(name)),
    createBucket: (name) => Effect.suspend(() => now.createBucket(name)),
    deleteBucket: (name) => Effect.suspend(() => now.deleteBucket(name)),
    locationOf: (bucket, key) => `memory:${bucket}/${key}`
  })
  return { buckets, full, add, plain, now, layer, mend: () => Object.assign(now, plain) }
}
