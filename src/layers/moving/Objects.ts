import {
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  type S3Client
} from "@aws-sdk/client-s3"
import { type MovingPart } from "../../domain/moving/Archive.ts"
import { decodedKey, type S3 } from "../storage/client/Client.ts"
import { type WrittenPart } from "./Segments.ts"
import { isMissing, StoreCallFailed, storeCaller } from "./StoreCalls.ts"

/** What a bucket need not have; stores without the feature answer 501 or 405. */
const orNull = async <A>(given: Promise<A | undefined>): Promise<string | null> => {
  try {
    const value = await given
    return value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value)
  } catch (cause) {
    if (isMissing(cause) || (cause instanceof StoreCallFailed && [405, 501].includes(cause.failure.status))) return null
    throw cause
  }
}

/**
 * The buckets of a store, each followed by its objects, as they are when they are read. Objects that are deleted meanwhile
 * are left out.
 *
 * @param after the last part that is written, which need not exist any more; the first bucket follows any other part
 */
export async function* storeParts(s3: S3, after: MovingPart | null): AsyncGenerator<WrittenPart> {
  const call = storeCaller(s3)
  const { Buckets = [] } = await call("Failed to list buckets", (s3, options) =>
    s3.send(new ListBucketsCommand({}), options)
  )
  const reached = after?.part === "bucket" ? after.name : after?.part === "object" ? after.bucket : ""
  for (const Bucket of Buckets.map(({ Name = "" }) => Name).toSorted()) {
    if (Bucket < reached) continue
    const about = <A>(get: (s3: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<A>) =>
      call(`Failed to read the settings of bucket ${Bucket}`, get)
    if (Bucket !== reached)
      yield {
        head: {
          part: "bucket",
          name: Bucket,
          policy: await orNull(
            about(async (s3, options) => (await s3.send(new GetBucketPolicyCommand({ Bucket }), options)).Policy)
          ),
          cors: await orNull(
            about(async (s3, options) => (await s3.send(new GetBucketCorsCommand({ Bucket }), options)).CORSRules)
          ),
          lifecycle: await orNull(
            about(
              async (s3, options) =>
                (await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }), options)).Rules
            )
          )
        }
      }
    const StartAfter = Bucket === reached && after?.part === "object" ? after.key : undefined
    for (let token: string | undefined, more = true; more;) {
      const from = token === undefined ? { StartAfter } : { ContinuationToken: token }
      const page = await call(`Failed to list bucket ${Bucket}`, (s3, options) =>
        s3.send(new ListObjectsV2Command({ Bucket, EncodingType: "url", ...from }), options)
      )
      const ahead: Array<Promise<WrittenPart | undefined>> = []
      const readUntil = async function* (length: number) {
        while (ahead.length > length) {
          const object = await ahead.shift()
          if (object !== undefined) yield object
        }
      }
      for (const { Key, Size = 0 } of page.Contents ?? []) {
        // The stream of a large object would wait for the objects before it.
        yield* readUntil(Size > smallObject ? 0 : atATime - 1)
        const reading = storedObject(call, Bucket, decodedKey(Key, page.EncodingType))
        // It is reported when its turn comes.
        reading.catch(() => undefined)
        ahead.push(reading)
        if (Size > smallObject) yield* readUntil(0)
      }
      yield* readUntil(0)
      token = page.NextContinuationToken
      more = page.IsTruncated === true && token !== undefined
    }
  }
}

/** Objects up to this size are read, and written, several at a time. */
export const smallObject = 256 * 1024
export const atATime = 8

const storedObject = async (
  call: ReturnType<typeof storeCaller>,
  Bucket: string,
  Key: string
): Promise<WrittenPart | undefined> => {
  const subject = `Failed to read ${Bucket}/${Key}`
  try {
    const found = await call(subject, (s3, options) => s3.send(new GetObjectCommand({ Bucket, Key }), options))
    const tags =
      (found.TagCount ?? 0) === 0
        ? []
        : ((await call(subject, (s3, options) => s3.send(new GetObjectTaggingCommand({ Bucket, Key }), options)))
            .TagSet ?? [])
    return {
      head: {
        part: "object" as const,
        bucket: Bucket,
        key: Key,
        size: found.ContentLength ?? 0,
        content_type: found.ContentType ?? null,
        content_disposition: found.ContentDisposition ?? null,
        cache_control: found.CacheControl ?? null,
        content_encoding: found.ContentEncoding ?? null,
        content_language: found.ContentLanguage ?? null,
        expires: found.ExpiresString ?? null,
        // As it was sent, which may be an encoded word.
        metadata: found.Metadata ?? {},
        tags: Object.fromEntries(tags.map(({ Key = "", Value = "" }) => [Key, Value]))
      },
      body:
        (found.ContentLength ?? 0) > smallObject
          ? (found.Body as unknown as AsyncIterable<Uint8Array>)
          : ((await found.Body?.transformToByteArray()) ?? Buffer.alloc(0))
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw cause
  }
}

/** The buckets of a store that are not empty. */
export const usedBuckets = async (s3: S3): Promise<ReadonlyArray<string>> => {
  const call = storeCaller(s3)
  const { Buckets = [] } = await call("Failed to list buckets", (s3, options) =>
    s3.send(new ListBucketsCommand({}), options)
  )
  const used: Array<string> = []
  for (const { Name: Bucket = "" } of Buckets) {
    const { KeyCount = 0 } = await call(`Failed to list bucket ${Bucket}`, (s3, options) =>
      s3.send(new ListObjectsV2Command({ Bucket, MaxKeys: 1 }), options)
    )
    if (KeyCount > 0) used.push(Bucket)
  }
  return used
}
