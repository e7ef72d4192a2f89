import {
  DeleteObjectTaggingCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  PutObjectTaggingCommand,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { decodeWords } from "../../../domain/storage/EncodedWords.ts"
import { type ObjectRecord } from "../../../domain/storage/Metadata.ts"
import { type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { decodedKey, failWith, type S3 } from "./Client.ts"
import { S3Failure } from "./Errors.ts"

type Port = Pick<
  ObjectStore["Service"],
  "findBucket" | "list" | "put" | "tags" | "setTags" | "presignUpload" | "presignDownload" | "presignPart"
>

/** S3's default content type. */
const defaultType = "binary/octet-stream"

const isoOf = (date: Date | undefined) => (date ?? new Date(0)).toISOString()

export const objectRecordOf = (key: string, head: HeadObjectCommandOutput): ObjectRecord => ({
  key,
  size: head.ContentLength ?? 0,
  etag: head.ETag ?? "",
  last_modified: isoOf(head.LastModified),
  content_type: head.ContentType ?? defaultType,
  content_disposition: head.ContentDisposition ?? null,
  cache_control: head.CacheControl ?? null,
  content_encoding: head.ContentEncoding ?? null,
  content_language: head.ContentLanguage ?? null,
  expires: head.ExpiresString ?? null,
  metadata: Object.fromEntries(
    Object.entries(head.Metadata ?? {}).map(([name, value]) => [name.toLowerCase(), decodeWords(value)])
  )
})

/** S3's full answer about an object. */
export const makeHead =
  ({ send }: S3, findBucket: Port["findBucket"]) =>
  (bucket: string, key: string): Effect.Effect<HeadObjectCommandOutput, StoreError> =>
    send((s3, options) => s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), options)).pipe(
      Effect.catch((failure) =>
        failure.status === 404
          ? // A response to HEAD has no body that says which of the two is missing.
            Effect.andThen(
              findBucket(bucket),
              failWith(new S3Failure({ code: "NoSuchKey", status: 404, message: "" }), { bucket, key })
            )
          : failWith(failure, { bucket, key })
      )
    )

/** Listings, small uploads, tags and presigned URLs. */
export const makeObjects = ({ call, presign }: S3): Omit<Port, "findBucket"> => ({
  list: Effect.fn("ObjectStore.list")(function* (bucket, { delimiter, limit, prefix, token }) {
    const page = yield* call({ bucket }, (s3, options) =>
      s3.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix === "" ? undefined : prefix,
          Delimiter: delimiter,
          MaxKeys: limit,
          ContinuationToken: token,
          // Keys may contain characters that XML can't represent.
          EncodingType: "url"
        }),
        options
      )
    )
    const prefixes = (page.CommonPrefixes ?? []).map(({ Prefix }) => decodedKey(Prefix, page.EncodingType))
    return {
      objects: (page.Contents ?? []).map(({ ETag, Key, LastModified, Size }) => ({
        key: decodedKey(Key, page.EncodingType),
        size: Size ?? 0,
        last_modified: isoOf(LastModified),
        etag: ETag ?? ""
      })),
      ...(delimiter === undefined ? {} : { common_prefixes: prefixes }),
      is_truncated: page.IsTruncated ?? false,
      next_continuation_token: page.NextContinuationToken ?? null
    }
  }),

  put: (bucket, key, contentType, bytes) =>
    Effect.map(
      call({ bucket, key }, (s3, options) =>
        s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, ContentType: contentType }), options)
      ),
      ({ ETag }) => ({ etag: ETag ?? "" })
    ),

  tags: (bucket, key) =>
    Effect.map(
      call({ bucket, key }, (s3, options) =>
        s3.send(new GetObjectTaggingCommand({ Bucket: bucket, Key: key }), options)
      ),
      ({ TagSet = [] }) => Object.fromEntries(TagSet.map(({ Key = "", Value = "" }) => [Key, Value]))
    ),

  setTags: (bucket, key, tags) => {
    const TagSet = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))
    return Effect.asVoid(
      call({ bucket, key }, (s3, options) =>
        TagSet.length === 0
          ? s3.send(new DeleteObjectTaggingCommand({ Bucket: bucket, Key: key }), options)
          : s3.send(new PutObjectTaggingCommand({ Bucket: bucket, Key: key, Tagging: { TagSet } }), options)
      )
    )
  },

  presignUpload: (bucket, key, contentType, seconds, size) =>
    presign(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        ...(size !== undefined && { ContentLength: size })
      }),
      seconds
    ),

  presignDownload: (bucket, key, seconds) => presign(new GetObjectCommand({ Bucket: bucket, Key: key }), seconds),

  presignPart: ({ bucket, key, uploadId }, partNumber, seconds) =>
    presign(new UploadPartCommand({ Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: partNumber }), seconds)
})
