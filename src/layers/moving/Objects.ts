import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type MovedObject, type MovingPart } from "../../domain/moving/Archive.ts"
import { decodedKey, type S3 } from "../storage/client/Client.ts"
import { type S3Failure } from "../storage/client/Errors.ts"
import { type ReadPart } from "./Parts.ts"
import { type WrittenPart } from "./Segments.ts"

type MovedBucket = Extract<MovingPart, { readonly part: "bucket" }>

/** Calls of the store as promises; a failure names the command's subject. */
const caller =
  ({ send }: S3, signal?: AbortSignal) =>
  <A>(subject: string, call: (s3: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<A>) =>
    Effect.runPromise(
      Effect.mapError(send(call, "slow"), (failure) => new StoreCallFailed(subject, failure)),
      { signal }
    )

class StoreCallFailed extends Error {
  override readonly name = "StoreCallFailed"
  readonly failure: S3Failure

  constructor(subject: string, failure: S3Failure) {
    super(`${subject}: ${[failure.code, failure.status || "", failure.message].filter(Boolean).join(" ")}`)
    this.failure = failure
  }
}

const isMissing = (cause: unknown) => cause instanceof StoreCallFailed && cause.failure.status === 404

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
  const call = caller(s3)
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
  call: ReturnType<typeof caller>,
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
  const call = caller(s3)
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

export const restoreBucket = async (s3: S3, { cors, lifecycle, name: Bucket, policy }: MovedBucket): Promise<void> => {
  const call = caller(s3)
  const subject = `Failed to create bucket ${Bucket}`
  const exists = await call(subject, (s3, options) => s3.send(new HeadBucketCommand({ Bucket }), options)).then(
    () => true,
    (cause: unknown) => {
      if (isMissing(cause)) return false
      throw cause
    }
  )
  if (!exists) await call(subject, (s3, options) => s3.send(new CreateBucketCommand({ Bucket }), options))
  if (policy !== null) {
    await call(subject, (s3, options) => s3.send(new PutBucketPolicyCommand({ Bucket, Policy: policy }), options))
  }
  if (cors !== null) {
    const CORSConfiguration = { CORSRules: JSON.parse(cors) }
    await call(subject, (s3, options) => s3.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration }), options))
  }
  if (lifecycle !== null) {
    const LifecycleConfiguration = { Rules: JSON.parse(lifecycle) }
    await call(subject, (s3, options) =>
      s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration }), options)
    )
  }
}

/** Larger objects are uploaded in parts of this size, or of a larger one if there would be over 10,000. */
const largestPut = 8 * 1024 * 1024

/** Pieces of `size` bytes, the last one shorter. */
async function* inUploadParts(body: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let [held, length]: [Array<Uint8Array>, number] = [[], 0]
  for await (const bytes of body) {
    held.push(bytes)
    length += bytes.length
    while (length >= size) {
      const all = Buffer.concat(held)
      yield all.subarray(0, size)
      held = [all.subarray(size)]
      length -= size
    }
  }
  if (length > 0) yield Buffer.concat(held)
}

const attributes = (object: MovedObject) => ({
  Bucket: object.bucket,
  Key: object.key,
  ContentType: object.content_type ?? undefined,
  ContentDisposition: object.content_disposition ?? undefined,
  CacheControl: object.cache_control ?? undefined,
  ContentEncoding: object.content_encoding ?? undefined,
  ContentLanguage: object.content_language ?? undefined,
  Expires: object.expires === null || Number.isNaN(Date.parse(object.expires)) ? undefined : new Date(object.expires),
  Metadata: object.metadata,
  Tagging: Object.keys(object.tags).length === 0 ? undefined : new URLSearchParams(object.tags).toString()
})

/** Ends the uploads of an object that an import has left that was killed. */
const endUploads = async (call: ReturnType<typeof caller>, { bucket: Bucket, key: Key }: MovedObject) => {
  const subject = `Failed to end uploads of ${Bucket}/${Key}`
  const { Uploads = [] } = await call(subject, (s3, options) =>
    s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }), options)
  )
  for (const { Key: found, UploadId } of Uploads) {
    if (found !== Key) continue
    await call(subject, (s3, options) => s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), options))
  }
}

/**
 * Uploads an object; it replaces one of the same key when it is complete.
 *
 * @param again an earlier import may have begun to upload it
 */
export const restoreObject = async (
  s3: S3,
  head: MovedObject,
  body: ReadPart["body"],
  again: boolean
): Promise<void> => {
  const call = caller(s3)
  const subject = `Failed to write ${head.bucket}/${head.key}`
  if (head.size <= largestPut) {
    const pieces: Array<Uint8Array> = []
    for await (const piece of body) pieces.push(piece)
    await call(subject, (s3, options) =>
      s3.send(new PutObjectCommand({ ...attributes(head), Body: Buffer.concat(pieces) }), options)
    )
    return
  }
  if (again) await endUploads(call, head)
  const { UploadId } = await call(subject, (s3, options) =>
    s3.send(new CreateMultipartUploadCommand(attributes(head)), options)
  )
  const upload = { Bucket: head.bucket, Key: head.key, UploadId }
  const parts: Array<{ readonly PartNumber: number; readonly ETag: string | undefined }> = []
  const size = Math.max(largestPut, Math.ceil(head.size / 10_000))
  try {
    for await (const Body of inUploadParts(body, size)) {
      const PartNumber = parts.length + 1
      const { ETag } = await call(subject, (s3, options) =>
        s3.send(new UploadPartCommand({ ...upload, PartNumber, Body }), options)
      )
      parts.push({ PartNumber, ETag })
    }
    await call(subject, (s3, options) =>
      s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } }), options)
    )
  } catch (cause) {
    await call(subject, (s3, options) => s3.send(new AbortMultipartUploadCommand(upload), options)).catch(
      () => undefined
    )
    throw cause
  }
}
