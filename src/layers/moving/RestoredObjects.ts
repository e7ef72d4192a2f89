import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { type MovedObject, type MovingPart } from "../../domain/moving/Archive.ts"
import { type S3 } from "../storage/client/Client.ts"
import { type ReadPart } from "./Parts.ts"
import { isMissing, storeCaller } from "./StoreCalls.ts"

type MovedBucket = Extract<MovingPart, { readonly part: "bucket" }>

export const restoreBucket = async (s3: S3, { cors, lifecycle, name: Bucket, policy }: MovedBucket): Promise<void> => {
  const call = storeCaller(s3)
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
const endUploads = async (call: ReturnType<typeof storeCaller>, { bucket: Bucket, key: Key }: MovedObject) => {
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
  const call = storeCaller(s3)
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
