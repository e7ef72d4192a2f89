import { GetBucketVersioningCommand, type S3Client } from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type ObjectReads, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { momentParameter } from "../Address.ts"
import { makeBuckets } from "./Buckets.ts"
import { failWith, type S3 } from "./Client.ts"
import { S3Failure } from "./Errors.ts"
import { makeHead, makeObjects, objectRecordOf } from "./Objects.ts"
import { makePastVersions } from "./PastVersions.ts"

interface Command {
  readonly input: object
  readonly middlewareStack: {
    readonly add: (
      middleware: (next: (args: Args) => unknown) => (args: Args) => unknown,
      options: { readonly step: "build"; readonly name: string }
    ) => void
  }
}
interface Args {
  readonly request: unknown
}

/** A client that changes each command before it is sent or signed. */
const changing = (s3: S3, change: (command: Command) => void): S3 => {
  const changed = <A>(command: A): A => {
    change(command as Command)
    return command
  }
  const clientOf = (client: S3Client): S3Client =>
    Object.create(client, {
      send: {
        value: (command: Parameters<S3Client["send"]>[0], options: object) => client.send(changed(command), options)
      }
    })
  const send: S3["send"] = (sdkCall, speed) => s3.send((client, options) => sdkCall(clientOf(client), options), speed)
  return {
    // The present store answers whether there is a bucket now.
    address: { ...s3.address, hasBucket: undefined },
    send,
    call: (subject, sdkCall, speed) => Effect.catch(send(sdkCall, speed), (failure) => failWith(failure, subject)),
    presign: (command, seconds) => s3.presign(changed(command), seconds)
  }
}

/** Objects by the history of the embedded store. */
export const makeKeptObjects = (s3: S3, moment: Date): ObjectReads => {
  const then = changing(s3, ({ middlewareStack }) =>
    middlewareStack.add(
      (next) => (args) => {
        const request = args.request as { query: Record<string, string> }
        request.query[momentParameter] = String(moment.getTime())
        return next(args)
      },
      { step: "build", name: "moment" }
    )
  )
  // A response to HEAD has no body with the code.
  const past: S3 = {
    ...then,
    send: (sdkCall, speed) =>
      Effect.mapError(then.send(sdkCall, speed), (failure) => (failure.status === 409 ? notKept : failure))
  }
  const { buckets, findBucket } = makeBuckets(past)
  const { list, presignDownload, tags } = makeObjects(past)
  const head = makeHead(past, findBucket)
  return {
    buckets,
    list,
    tags,
    presignDownload,
    record: (bucket, key) => Effect.map(head(bucket, key), (found) => objectRecordOf(key, found))
  }
}

const notKept = new S3Failure({ code: "ObjectsNotKept", status: 409, message: "" })

/** Objects by the versions of a store that keeps them, in buckets that are still there. */
export const makeVersionedObjects = (s3: S3, moment: Date): ObjectReads => {
  const present = makeBuckets(s3)
  const versions = makePastVersions(s3, moment)

  /** Only the present state of a bucket's versioning is known. */
  const keeping = (bucket: string): Effect.Effect<void, StoreError> =>
    s3
      .call({ bucket }, (client, options) => client.send(new GetBucketVersioningCommand({ Bucket: bucket }), options))
      .pipe(Effect.flatMap(({ Status }) => (Status === "Enabled" ? Effect.void : failWith(notKept, { bucket }))))

  /** The client for the version of a key at the moment. */
  const versionOf = (bucket: string, key: string) =>
    keeping(bucket).pipe(
      Effect.andThen(versions.find(bucket, key)),
      Effect.map((VersionId) => changing(s3, ({ input }) => Object.assign(input, { VersionId })))
    )

  return {
    buckets: Effect.map(present.buckets, (all) =>
      all.filter(({ created_at }) => Date.parse(created_at) <= moment.getTime())
    ),
    list: (bucket, options) => Effect.andThen(keeping(bucket), versions.list(bucket, options)),
    record: (bucket, key) =>
      Effect.flatMap(versionOf(bucket, key), (then) =>
        Effect.map(makeHead(then, present.findBucket)(bucket, key), (found) => objectRecordOf(key, found))
      ),
    tags: (bucket, key) => Effect.flatMap(versionOf(bucket, key), (then) => makeObjects(then).tags(bucket, key)),
    presignDownload: (bucket, key, seconds) =>
      Effect.flatMap(versionOf(bucket, key), (then) => makeObjects(then).presignDownload(bucket, key, seconds))
  }
}
