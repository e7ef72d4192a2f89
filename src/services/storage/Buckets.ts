import { Context, Effect, Layer, Schedule } from "effect"
import { type Bucket, type BucketPolicy, type CorsRule } from "../../domain/storage/Bucket.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"

/** How often a bucket is emptied again because something was put into it meanwhile. */
const emptyAttempts = 3

type Asked<A> = Effect.Effect<A, StoreError>

/** Buckets, and what may be done to them (spec: Storage). */
export class Storage extends Context.Service<
  Storage,
  {
    /** By name. */
    readonly buckets: Asked<ReadonlyArray<Bucket>>
    readonly create: (bucket: string) => Asked<Bucket>
    /** With `force` it is emptied first, which may take long; without, Conflict BUCKET_NOT_EMPTY when it is not empty. */
    readonly remove: (bucket: string, force: boolean) => Asked<void>
    readonly policy: (bucket: string) => Asked<BucketPolicy | null>
    /** null takes it away. Gives what then is. */
    readonly setPolicy: (bucket: string, policy: BucketPolicy | null) => Asked<BucketPolicy | null>
    readonly cors: (bucket: string) => Asked<ReadonlyArray<CorsRule>>
    readonly setCors: (bucket: string, rules: ReadonlyArray<CorsRule>) => Asked<ReadonlyArray<CorsRule>>
  }
>()("svc/services/Storage") {
  static readonly layer = Layer.effect(
    Storage,
    Effect.gen(function* () {
      const store = yield* ObjectStore

      const emptied = (bucket: string) =>
        Effect.andThen(store.emptyBucket(bucket), store.deleteBucket(bucket)).pipe(
          Effect.retry({
            while: ({ code }) => code === "BUCKET_NOT_EMPTY",
            schedule: Schedule.recurs(emptyAttempts - 1)
          })
        )

      return Storage.of({
        buckets: store.buckets,
        create: store.createBucket,
        remove: Effect.fn("Storage.remove")((bucket: string, force: boolean) =>
          force ? emptied(bucket) : store.deleteBucket(bucket)
        ),
        policy: store.policy,
        setPolicy: Effect.fn("Storage.setPolicy")((bucket: string, policy: BucketPolicy | null) =>
          Effect.andThen(store.setPolicy(bucket, policy), store.policy(bucket))
        ),
        cors: store.cors,
        setCors: Effect.fn("Storage.setCors")((bucket: string, rules: ReadonlyArray<CorsRule>) =>
          Effect.andThen(store.setCors(bucket, rules), store.cors(bucket))
        )
      })
    })
  )
}
