import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Conflict, Unavailable } from "../../domain/errors.ts"
import { type Bucket } from "../../domain/storage/Bucket.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"

/** The bucket of an environment whose creation has not finished. */
const Draft = Schema.Struct({
  bucket_name: Schema.String,
  /** Identifies the attempt. */
  token: Schema.String,
  /** ms since 1970 */
  created: Schema.Finite,
  /** Old enough that even a slow store has either created the bucket or never will. */
  settled: Schema.Boolean
})
type Draft = typeof Draft.Type
const Token = Schema.Struct({ token: Schema.String })

/** Largest difference between the times of a draft and its bucket, in ms: the clock skew that S3 allows. */
const maxSkew = 15 * 60_000

const exists = (bucket: string) =>
  new Conflict({
    error: `The bucket "${bucket}" already exists`,
    code: "BUCKET_EXISTS",
    hint: "Delete it, or choose another slug"
  })

/** Whether the store answered, and refused. */
const isRefusal = ({ _tag }: StoreError) => _tag === "Conflict" || _tag === "Forbidden" || _tag === "InvalidRequest"

/** Creates and removes the buckets of environments; for the holder of the lock of environments. */
export const makeEnvironmentBuckets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const store = yield* ObjectStore

  const forget = (bucket: string, token: string) =>
    sql.unsafe("delete from svc.environment_drafts where bucket_name = $1 and token = $2::uuid returning token", [
      bucket,
      token
    ])

  /** Records a draft, then creates the bucket. Returns the draft's token. 409 `BUCKET_EXISTS`, also for another account's. */
  const make = Effect.fn("EnvironmentBuckets.make")(function* (bucket: string) {
    const there = yield* Effect.matchEffect(store.findBucket(bucket), {
      onSuccess: () => Effect.succeed(true),
      // Forbidden: another account's bucket, or no right to read it. Its creation shows which.
      onFailure: (error) =>
        error._tag === "NotFound" || error._tag === "Forbidden" ? Effect.succeed(false) : Effect.fail(error)
    })
    if (there) return yield* exists(bucket)
    const [draft] = yield* onOwnTables(
      queryRows(sql, Token)(
        `insert into svc.environment_drafts (bucket_name) values ($1)
         on conflict (bucket_name) do update set token = default, created_at = default
         returning token::text as token`,
        [bucket]
      )
    )
    const token = draft?.token ?? ""
    yield* Effect.catch(store.createBucket(bucket), (error) =>
      // The bucket may exist after any other failure, or appear later.
      Effect.andThen(
        isRefusal(error) ? onOwnTables(forget(bucket, token)) : Effect.void,
        Effect.fail(error.code === "BUCKET_EXISTS" ? exists(bucket) : error)
      )
    )
    return token
  })

  /** Deletes the draft and so keeps the bucket; in the transaction that creates the environment. */
  const keep = Effect.fnUntraced(function* (bucket: string, token: string) {
    if ((yield* forget(bucket, token)).length > 0) return
    return yield* new Unavailable({
      error: "Another request cancelled this creation; try again",
      code: "ENVIRONMENTS_BUSY"
    })
  })

  const removeBucket = ({ created_at, name }: Bucket, { created }: Draft) =>
    Math.abs(Date.parse(created_at) - created) > maxSkew
      ? Effect.logWarning(`Kept the bucket ${name}, which belongs to no environment: it is not as old as its draft`)
      : Effect.catch(store.deleteBucket(name), (error) => {
          if (error._tag === "NotFound") return Effect.void
          return isRefusal(error)
            ? Effect.logWarning(`Kept the bucket ${name}, which belongs to no environment: ${error.error}`)
            : Effect.fail(error)
        })

  /** Removes the empty buckets of attempts that did not finish. */
  const sweep = Effect.gen(function* () {
    // The new tokens make an attempt that is still in progress fail before its bucket is removed.
    const drafts = yield* onOwnTables(
      queryRows(
        sql,
        Draft
      )(
        `update svc.environment_drafts set token = gen_random_uuid()
         returning bucket_name, token::text as token, extract(epoch from created_at)::float8 * 1000 as created,
           created_at < now() - interval '1 minute' as settled`
      )
    )
    if (drafts.length === 0) return
    const buckets = yield* store.buckets
    for (const draft of drafts) {
      const bucket = buckets.find(({ name }) => name === draft.bucket_name)
      if (bucket === undefined && !draft.settled) continue
      if (bucket !== undefined) yield* removeBucket(bucket, draft)
      yield* onOwnTables(forget(draft.bucket_name, draft.token))
    }
  })

  /** Whether some attempt left a draft, or is in progress. */
  const hasDrafts = Effect.map(
    onOwnTables(sql.unsafe("select from svc.environment_drafts limit 1")),
    (rows) => rows.length > 0
  )

  return { make, keep, hasDrafts, sweep }
})
