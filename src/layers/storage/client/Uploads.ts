import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand
} from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { BadGateway } from "../../../domain/errors.ts"
import { type UploadedPart, uploadPlace, uploadToken } from "../../../domain/storage/Object.ts"
import { type ObjectStore, type UploadRef } from "../../../services/ports/ObjectStore.ts"
import { decodedKey, type S3 } from "./Client.ts"

type Port = Pick<ObjectStore["Service"], "createUpload" | "parts" | "uploads" | "completeUpload" | "abortUpload">

/** The maximum number of parts in one of S3's listings. */
const pageSize = 1000

const inputOf = ({ bucket, key, uploadId }: UploadRef) => ({ Bucket: bucket, Key: key, UploadId: uploadId })

/** The ETag with quotes, as S3 writes it. */
const quotedETag = (etag: string) => (etag.startsWith('"') ? etag : `"${etag}"`)

/** Multipart uploads. */
export const makeUploads = ({ call }: S3): Port => ({
  createUpload: Effect.fn("ObjectStore.createUpload")(function* (bucket, key, contentType) {
    const { UploadId } = yield* call({ bucket, key }, (s3, options) =>
      s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ContentType: contentType }), options)
    )
    if (UploadId !== undefined) return UploadId
    return yield* new BadGateway({ error: "The object store returned no upload id", code: "STORE_UNAVAILABLE" })
  }),

  parts: Effect.fn("ObjectStore.parts")(function* (upload, limit) {
    const parts: Array<UploadedPart> = []
    let marker: string | undefined
    do {
      const page = yield* call(upload, (s3, options) =>
        s3.send(
          new ListPartsCommand({
            ...inputOf(upload),
            PartNumberMarker: marker,
            MaxParts: Math.min(pageSize, limit - parts.length)
          }),
          options
        )
      )
      for (const { ETag, LastModified, PartNumber, Size } of page.Parts ?? []) {
        parts.push({
          partNumber: PartNumber ?? 0,
          etag: ETag ?? "",
          size: Size ?? 0,
          last_modified: (LastModified ?? new Date(0)).toISOString()
        })
      }
      marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined
    } while (marker !== undefined && parts.length < limit)
    return parts
  }),

  uploads: Effect.fn("ObjectStore.uploads")(function* (bucket, { limit, prefix, token }) {
    const after = token === undefined ? undefined : uploadPlace(token)
    const page = yield* call({ bucket }, (s3, options) =>
      s3.send(
        new ListMultipartUploadsCommand({
          Bucket: bucket,
          Prefix: prefix === "" ? undefined : prefix,
          MaxUploads: limit,
          KeyMarker: after?.key,
          UploadIdMarker: after?.uploadId,
          EncodingType: "url"
        }),
        options
      )
    )
    const next = { key: decodedKey(page.NextKeyMarker, page.EncodingType), uploadId: page.NextUploadIdMarker ?? "" }
    const more = page.IsTruncated ?? false
    return {
      uploads: (page.Uploads ?? []).map(({ Initiated, Key, UploadId }) => ({
        key: decodedKey(Key, page.EncodingType),
        uploadId: UploadId ?? "",
        initiated: (Initiated ?? new Date()).toISOString()
      })),
      is_truncated: more,
      next_continuation_token: more ? uploadToken(next) : null
    }
  }),

  completeUpload: (upload, parts) =>
    Effect.map(
      call(
        upload,
        (s3, options) =>
          s3.send(
            new CompleteMultipartUploadCommand({
              ...inputOf(upload),
              MultipartUpload: {
                Parts: parts.map(({ etag, partNumber }) => ({ PartNumber: partNumber, ETag: quotedETag(etag) }))
              }
            }),
            options
          ),
        "slow"
      ),
      ({ ETag }) => ({ etag: ETag ?? "" })
    ),

  abortUpload: (upload) =>
    Effect.asVoid(call(upload, (s3, options) => s3.send(new AbortMultipartUploadCommand(inputOf(upload)), options)))
})
