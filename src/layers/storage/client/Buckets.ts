import {
  type CORSRule,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketCorsCommand,
  DeleteBucketPolicyCommand,
  GetBucketCorsCommand,
  GetBucketPolicyCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  PutBucketCorsCommand,
  PutBucketPolicyCommand
} from "@aws-sdk/client-s3"
import { DateTime, Effect, Schema } from "effect"
import { BadGateway } from "../../../domain/errors.ts"
import { type Bucket, BucketPolicy, CorsRules } from "../../../domain/storage/Bucket.ts"
import { type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { type S3, told } from "./Client.ts"
import { S3Failure } from "./Errors.ts"

type Port = Pick<
  ObjectStore["Service"],
  "buckets" | "createBucket" | "deleteBucket" | "findBucket" | "policy" | "setPolicy" | "cors" | "setCors"
>

const noSuchBucket = new S3Failure({ code: "NoSuchBucket", status: 404, message: "" })
const owned = new S3Failure({ code: "BucketAlreadyOwnedByYou", status: 409, message: "" })

const strange = (what: string) => () =>
  new BadGateway({ error: `The object store has ${what} that this service can't read`, code: "STORE_UNREADABLE" })

const policyOf = Schema.decodeUnknownEffect(Schema.fromJsonString(BucketPolicy))
const rulesOf = Schema.decodeUnknownEffect(CorsRules)

/** Only what is set: S3 leaves out what is not, the SDK says undefined. */
const set = (rule: CORSRule) => Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined))

/** Buckets, their policies and CORS rules. */
export const bucketsOn = ({ ask, call }: S3): Port => {
  const list = Effect.fnUntraced(function* (prefix: string | undefined) {
    const buckets: Array<Bucket> = []
    let token: string | undefined
    do {
      const page = yield* call({}, (s3, options) =>
        s3.send(new ListBucketsCommand({ Prefix: prefix, ContinuationToken: token }), options)
      )
      for (const { CreationDate, Name } of page.Buckets ?? []) {
        buckets.push({ name: Name ?? "", created_at: (CreationDate ?? new Date(0)).toISOString() })
      }
      token = page.ContinuationToken
    } while (token !== undefined && token !== "")
    return buckets.sort((a, b) => (a.name < b.name ? -1 : 1))
  })

  /** A HEAD has no body, so S3 can't say what is missing; here it can only be the bucket. */
  const findBucket = (bucket: string): Effect.Effect<void, StoreError> =>
    ask((s3, options) => s3.send(new HeadBucketCommand({ Bucket: bucket }), options)).pipe(
      Effect.catch((failure) => told(failure.status === 404 ? noSuchBucket : failure, { bucket })),
      Effect.asVoid
    )

  const createBucket = Effect.fn("ObjectStore.createBucket")(function* (bucket: string) {
    // In us-east-1 S3 says yes to a second creation.
    const there = yield* Effect.matchEffect(findBucket(bucket), {
      onSuccess: () => Effect.succeed(true),
      onFailure: (error) =>
        error._tag === "NotFound" || error._tag === "Forbidden" ? Effect.succeed(false) : Effect.fail(error)
    })
    if (there) return yield* told(owned, { bucket })
    yield* call({ bucket }, (s3, options) => s3.send(new CreateBucketCommand({ Bucket: bucket }), options))
    const made = (yield* list(bucket)).find(({ name }) => name === bucket)
    return made ?? { name: bucket, created_at: DateTime.formatIso(yield* DateTime.now) }
  })

  const policy = (bucket: string) =>
    ask((s3, options) => s3.send(new GetBucketPolicyCommand({ Bucket: bucket }), options)).pipe(
      Effect.map(({ Policy }) => Policy ?? ""),
      Effect.catch((failure) =>
        failure.code === "NoSuchBucketPolicy" ? Effect.succeed("") : told(failure, { bucket })
      ),
      Effect.flatMap((text) =>
        text === "" ? Effect.succeed(null) : Effect.mapError(policyOf(text), strange("a bucket policy"))
      )
    )

  const setPolicy = (bucket: string, policy: BucketPolicy | null) =>
    Effect.asVoid(
      call({ bucket }, (s3, options) =>
        policy === null
          ? s3.send(new DeleteBucketPolicyCommand({ Bucket: bucket }), options)
          : s3.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify(policy) }), options)
      )
    )

  const cors = (bucket: string) =>
    ask((s3, options) => s3.send(new GetBucketCorsCommand({ Bucket: bucket }), options)).pipe(
      Effect.map(({ CORSRules }) => CORSRules ?? []),
      Effect.catch((failure) =>
        failure.code === "NoSuchCORSConfiguration" ? Effect.succeed([]) : told(failure, { bucket })
      ),
      Effect.flatMap((rules) => Effect.mapError(rulesOf(rules.map(set)), strange("CORS rules")))
    )

  const setCors: Port["setCors"] = (bucket, rules) =>
    Effect.asVoid(
      call({ bucket }, (s3, options) =>
        rules.length === 0
          ? s3.send(new DeleteBucketCorsCommand({ Bucket: bucket }), options)
          : s3.send(
              new PutBucketCorsCommand({
                Bucket: bucket,
                CORSConfiguration: {
                  CORSRules: rules.map((rule) => ({
                    ID: rule.ID,
                    AllowedOrigins: [...rule.AllowedOrigins],
                    AllowedMethods: [...rule.AllowedMethods],
                    AllowedHeaders: rule.AllowedHeaders && [...rule.AllowedHeaders],
                    ExposeHeaders: rule.ExposeHeaders && [...rule.ExposeHeaders],
                    MaxAgeSeconds: rule.MaxAgeSeconds
                  }))
                }
              }),
              options
            )
      )
    )

  return {
    buckets: list(undefined),
    createBucket,
    deleteBucket: (bucket) =>
      Effect.asVoid(call({ bucket }, (s3, options) => s3.send(new DeleteBucketCommand({ Bucket: bucket }), options))),
    findBucket,
    policy,
    setPolicy,
    cors,
    setCors
  }
}
