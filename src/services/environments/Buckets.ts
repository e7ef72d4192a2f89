import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Conflict, Unavailable } from "../../domain/errors.ts"
import { type Bucket } from "../../domain/storage/Bucket.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { onOwnTables } from "../OwnTables.ts"

/** A bucket that was asked for by an attempt that has not come to its end. */
interface Draft {
  readonly bucket_name: string
  /** Whose it is. */
  readonly token: string
  /** ms since 1970 */
  readonly noted: number
  /** Old enough that a slow store has either made the bucket or never will. */
  readonly settled: boolean
}

/** Between a note and its bucket's creation: S3 itself lets clocks be so far apart, in ms. */
const farthest = 15 * 60_000

const exists = (bucket: string) =>
  new Conflict({
    error: `There is a bucket "${bucket}" already`,
    code: "BUCKET_EXISTS",
    hint: "Delete it, or choose another slug"
  })

/** The store answered, and did not do it. */
const isRefusal = ({ _tag }: StoreError) => _tag === "Conflict" || _tag === "Forbidden" || _tag === "InvalidRequest"

/** The buckets of environments, made and taken back by whoever has the turn. */
export class EnvironmentBuckets extends Context.Service<
  EnvironmentBuckets,
  {
    /** Notes what it is about to do, then makes it. Gives the note. Conflict BUCKET_EXISTS, whoever made that one. */
    readonly make: (bucket: string) => Effect.Effect<string, StoreError>
    /** In the transaction that makes the environment: takes the note away, and so keeps the bucket. */
    readonly keep: (bucket: string, token: string) => Effect.Effect<void, SqlError.SqlError | Unavailable>
    /** Whether some attempt left a note, or is under way. */
    readonly drafted: Effect.Effect<boolean, Unavailable>
    /** Takes away the empty buckets of attempts that did not come to their end. */
    readonly sweep: Effect.Effect<void, StoreError>
  }
>()("svc/services/EnvironmentBuckets") {
  static readonly layer = Layer.effect(
    EnvironmentBuckets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* ObjectStore

      const forget = (bucket: string, token: string) =>
        sql.unsafe("delete from svc.environment_drafts where bucket_name = $1 and token = $2::uuid returning token", [
          bucket,
          token
        ])

      const make = Effect.fn("EnvironmentBuckets.make")(function* (bucket: string) {
        const there = yield* Effect.matchEffect(store.findBucket(bucket), {
          onSuccess: () => Effect.succeed(true),
          // Forbidden: somebody else's, or not ours to look at. The creation will tell.
          onFailure: (error) =>
            error._tag === "NotFound" || error._tag === "Forbidden" ? Effect.succeed(false) : Effect.fail(error)
        })
        if (there) return yield* exists(bucket)
        const [draft] = yield* onOwnTables(
          sql.unsafe<Pick<Draft, "token">>(
            `insert into svc.environment_drafts (bucket_name) values ($1)
             on conflict (bucket_name) do update set token = default, created_at = default
             returning token::text as token`,
            [bucket]
          )
        )
        const token = draft?.token ?? ""
        yield* Effect.catch(store.createBucket(bucket), (error) =>
          // After any other failure it may be there all the same, or yet to come.
          Effect.andThen(
            isRefusal(error) ? onOwnTables(forget(bucket, token)) : Effect.void,
            Effect.fail(error.code === "BUCKET_EXISTS" ? exists(bucket) : error)
          )
        )
        return token
      })

      const keep = Effect.fnUntraced(function* (bucket: string, token: string) {
        if ((yield* forget(bucket, token)).length > 0) return
        return yield* new Unavailable({ error: "The attempt was given up; try again", code: "ENVIRONMENTS_BUSY" })
      })

      const takeBack = ({ created_at, name }: Bucket, { noted }: Draft) =>
        Math.abs(Date.parse(created_at) - noted) > farthest
          ? Effect.logWarning(`The bucket ${name} is of no environment; it is left: it was not made with the attempt`)
          : Effect.catch(store.deleteBucket(name), (error) => {
              if (error._tag === "NotFound") return Effect.void
              return isRefusal(error)
                ? Effect.logWarning(`The bucket ${name} is of no environment; it is left: ${error.error}`)
                : Effect.fail(error)
            })

      const sweep = Effect.gen(function* () {
        // Another token: whoever believes to be still at it finds out before the bucket is gone.
        const drafts = yield* onOwnTables(
          sql.unsafe<Draft>(
            `update svc.environment_drafts set token = gen_random_uuid()
             returning bucket_name, token::text as token, extract(epoch from created_at)::float8 * 1000 as noted,
               created_at < now() - interval '1 minute' as settled`
          )
        )
        if (drafts.length === 0) return
        const buckets = yield* store.buckets
        for (const draft of drafts) {
          const bucket = buckets.find(({ name }) => name === draft.bucket_name)
          if (bucket === undefined && !draft.settled) continue
          if (bucket !== undefined) yield* takeBack(bucket, draft)
          yield* onOwnTables(forget(draft.bucket_name, draft.token))
        }
      })

      const drafted = Effect.map(
        onOwnTables(sql.unsafe("select from svc.environment_drafts limit 1")),
        (rows) => rows.length > 0
      )

      return EnvironmentBuckets.of({ make, keep, drafted, sweep })
    })
  )
}
