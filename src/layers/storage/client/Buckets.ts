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
import { type S3, failWith } from "./Client.ts"
import { S3Failure } from "./Errors.ts"

type Port = Pick<
  ObjectStore["Service"],
  "buckets" | "createBucket" | "deleteBucket" | "findBucket" | "policy" | "setPolicy" | "cors" | "setCors"
>

const noSuchBucket = new S3Failure({ code: "NoSuchBucket", status: 404, message: "" })
const owned = new S3Failure({ code: "BucketAlreadyOwnedByYou", status: 409, message: "" })

const unreadable = (what: string) => () =>
  new BadGateway({ error: `The object store returned ${what} that can't be read`, code: "STORE_UNREADABLE" })

const policyOf = Schema.decodeUnknownEffect(Schema.fromJsonString(BucketPolicy))
const rulesOf = Schema.decodeUnknownEffect(CorsRules)

/** A rule without undefined members, which the SDK sets where S3 omits them. */
const definedOnly = (rule: CORSRule) =>
  Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined))

/** Buckets, their policies and CORS rules. */
export const makeBuckets = ({ address: { hasBucket }, call, send }: S3): Port => {
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

  /** A response to HEAD has no body that names the missing object; here it can only be the bucket. */
  const requestBucket = (bucket: string): Effect.Effect<void, StoreError> =>
    send((s3, options) => s3.send(new HeadBucketCommand({ Bucket: bucket }), options)).pipe(
      Effect.catch((failure) => failWith(failure.status === 404 ? noSuchBucket : failure, { bucket })),
      Effect.asVoid
    )

  const findBucket = (bucket: string): Effect.Effect<void, StoreError> =>
    hasBucket === undefined
      ? requestBucket(bucket)
      : Effect.flatMap(hasBucket(bucket), (exists) => (exists ? Effect.void : failWith(noSuchBucket, { bucket })))

  const createBucket = Effect.fn("ObjectStore.createBucket")(function* (bucket: string) {
    // S3 accepts a second creation in us-east-1.
    const exists = yield* Effect.matchEffect(findBucket(bucket), {
      onSuccess: () => Effect.succeed(true),
      onFailure: (error) =>
        error._tag === "NotFound" || error._tag === "Forbidden" ? Effect.succeed(false) : Effect.fail(error)
    })
    if (exists) return yield* failWith(owned, { bucket })
    yield* call({ bucket }, (s3, options) => s3.send(new CreateBucketCommand({ Bucket: bucket }), options))
    const made = (yield* list(bucket)).find(({ name }) => name === bucket)
    return made ?? { name: bucket, created_at: DateTime.formatIso(yield* DateTime.now) }
  })

  const policy = (bucket: string) =>
    send((s3, options) => s3.send(new GetBucketPolicyCommand({ Bucket: bucket }), options)).pipe(
      Effect.map(({ Policy }) => Policy ?? ""),
      Effect.catch((failure) =>
        failure.code === "NoSuchBucketPolicy" ? Effect.succeed("") : failWith(failure, { bucket })
      ),
      Effect.flatMap((text) =>
        text === "" ? Effect.succeed(null) : Effect.mapError(policyOf(text), unreadable("a bucket policy"))
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
    send((s3, options) => s3.send(new GetBucketCorsCommand({ Bucket: bucket }), options)).pipe(
      Effect.map(({ CORSRules }) => CORSRules ?? []),
      Effect.catch((failure) =>
        failure.code === "NoSuchCORSConfiguration" ? Effect.succeed([]) : failWith(failure, { bucket })
      ),
      Effect.flatMap((rules) => Effect.mapError(rulesOf(rules.map(definedOnly)), unreadable("CORS rules")))
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
