import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectTaggingCommand,
  type GetObjectTaggingCommandOutput,
  type HeadObjectCommandOutput,
  UploadPartCopyCommand
} from "@aws-sdk/client-s3"
import { Effect, Exit } from "effect"
import { Conflict } from "../../../domain/errors.ts"
import { encodeWords } from "../../../domain/storage/EncodedWords.ts"
import { maxParts } from "../../../domain/storage/Object.ts"
import { type ObjectRecord } from "../../../domain/storage/Metadata.ts"
import { type StoreError } from "../../../services/ports/ObjectStore.ts"
import { encodedPath, type S3 } from "./Client.ts"

/** Sizes in bytes. */
export interface CopyLimits {
  /** Larger objects are copied in parts. */
  readonly whole: number
  /** The size of each part but the last; larger if there would be more than 10,000. */
  readonly part: number
}

/** S3's own: one copy request handles up to 5 GiB. */
export const s3CopyLimits: CopyLimits = { whole: 5 * 1024 ** 3, part: 512 * 1024 ** 2 }

const copiesAtOnce = 4

const dateOf = (text: string | null) => {
  const date = new Date(text ?? "")
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** The attributes that an object keeps when its metadata is replaced. */
const attributes = (head: HeadObjectCommandOutput, record: ObjectRecord) => ({
  ContentType: record.content_type,
  ContentDisposition: record.content_disposition ?? undefined,
  CacheControl: record.cache_control ?? undefined,
  ContentEncoding: record.content_encoding ?? undefined,
  ContentLanguage: record.content_language ?? undefined,
  Expires: dateOf(record.expires),
  Metadata: Object.fromEntries(Object.entries(record.metadata).map(([name, value]) => [name, encodeWords(value)])),
  StorageClass: head.StorageClass === "STANDARD" ? undefined : head.StorageClass,
  ServerSideEncryption: head.ServerSideEncryption,
  SSEKMSKeyId: head.SSEKMSKeyId,
  WebsiteRedirectLocation: head.WebsiteRedirectLocation
})

const tagHeader = ({ TagSet }: GetObjectTaggingCommandOutput) =>
  (TagSet ?? []).map(({ Key = "", Value = "" }) => `${encodeURIComponent(Key)}=${encodeURIComponent(Value)}`).join("&")

/** Ranges of at least `part` bytes that cover `size`. */
const rangesOf = (size: number, part: number) => {
  const step = Math.max(part, Math.ceil(size / maxParts))
  return Array.from({ length: Math.ceil(size / step) }, (_, index) => ({
    number: index + 1,
    range: `bytes=${index * step}-${Math.min(size, (index + 1) * step) - 1}`
  }))
}

/**
 * S3 can't change metadata: the object is copied onto itself. It must still be the one that was read, which is a
 * condition on the source and, in case it is replaced while the copy runs, on the target.
 */
export const makeSetRecord = (
  { call }: S3,
  limits: CopyLimits,
  headOf: (bucket: string, key: string) => Effect.Effect<HeadObjectCommandOutput, StoreError>
) => {
  const whole = (bucket: string, head: HeadObjectCommandOutput, record: ObjectRecord) =>
    call(
      { bucket, key: record.key },
      (s3, options) =>
        s3.send(
          new CopyObjectCommand({
            Bucket: bucket,
            Key: record.key,
            CopySource: encodedPath(bucket, record.key),
            CopySourceIfMatch: record.etag,
            IfMatch: record.etag,
            MetadataDirective: "REPLACE",
            ...attributes(head, record)
          }),
          options
        ),
      "slow"
    )

  const tagsOf = (bucket: string, key: string) =>
    call({ bucket, key }, (s3, options) => s3.send(new GetObjectTaggingCommand({ Bucket: bucket, Key: key }), options))

  const inParts = (bucket: string, head: HeadObjectCommandOutput, record: ObjectRecord) => {
    const target = { Bucket: bucket, Key: record.key }
    const subject = { bucket, key: record.key }
    const tagging = (head.TagCount ?? 0) === 0 ? Effect.undefined : Effect.map(tagsOf(bucket, record.key), tagHeader)
    const create = Effect.flatMap(tagging, (Tagging) =>
      call(subject, (s3, options) =>
        s3.send(new CreateMultipartUploadCommand({ ...target, ...attributes(head, record), Tagging }), options)
      )
    )
    return Effect.acquireUseRelease(
      create,
      Effect.fnUntraced(function* ({ UploadId }) {
        const Parts = yield* Effect.forEach(
          rangesOf(record.size, limits.part),
          ({ number, range }) =>
            Effect.map(
              call(
                subject,
                (s3, options) =>
                  s3.send(
                    new UploadPartCopyCommand({
                      ...target,
                      UploadId,
                      PartNumber: number,
                      CopySource: encodedPath(bucket, record.key),
                      CopySourceIfMatch: record.etag,
                      CopySourceRange: range
                    }),
                    options
                  ),
                "slow"
              ),
              ({ CopyPartResult }) => ({ PartNumber: number, ETag: CopyPartResult?.ETag })
            ),
          { concurrency: copiesAtOnce }
        )
        yield* call(
          subject,
          (s3, options) =>
            s3.send(
              new CompleteMultipartUploadCommand({
                ...target,
                UploadId,
                IfMatch: record.etag,
                MultipartUpload: { Parts }
              }),
              options
            ),
          "slow"
        )
      }),
      ({ UploadId }, exit) =>
        Exit.isSuccess(exit)
          ? Effect.void
          : Effect.ignore(
              call(subject, (s3, options) => s3.send(new AbortMultipartUploadCommand({ ...target, UploadId }), options))
            )
    )
  }

  return Effect.fn("ObjectStore.setRecord")(function* (bucket: string, record: ObjectRecord) {
    // The record lacks attributes that must be kept (storage class, encryption).
    const head = yield* headOf(bucket, record.key)
    if (head.ETag !== record.etag) {
      return yield* new Conflict({
        error: `The object "${record.key.slice(0, 200)}" was changed by another request; try again`,
        code: "OBJECT_CHANGED"
      })
    }
    yield* record.size > limits.whole ? inParts(bucket, head, record) : whole(bucket, head, record)
  })
}
