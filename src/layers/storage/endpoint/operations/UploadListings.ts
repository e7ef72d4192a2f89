import { Effect } from "effect"
import { encodingOf, type Exchange, limitParam, type S3Operation, ownerXml, xmlReply } from "../Exchange.ts"
import { tryS3 } from "../Request.ts"

export const listParts: S3Operation = {
  action: "s3:ListMultipartUploadParts",
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const { bucket, key } = request
    const { encode, limit, marker, type } = yield* tryS3(() => ({
      limit: limitParam(request, "max-parts", 1000),
      marker: limitParam(request, "part-number-marker", 2 ** 31 - 1, 0),
      ...encodingOf(request)
    }))
    const uploadId = request.param("uploadId") ?? ""
    const { meta } = yield* store.upload(bucket, key, uploadId)
    const { more, parts } =
      limit === 0 ? { more: false, parts: [] } : yield* store.parts(bucket, key, uploadId, marker, limit)
    return xmlReply("ListPartsResult", {
      Bucket: bucket,
      Key: encode(key),
      UploadId: uploadId,
      Initiator: ownerXml,
      Owner: ownerXml,
      StorageClass: "STANDARD",
      PartNumberMarker: marker,
      NextPartNumberMarker: parts.at(-1)?.part ?? 0,
      MaxParts: limit,
      EncodingType: type,
      IsTruncated: more,
      ChecksumAlgorithm: meta.checksum?.algorithm,
      ChecksumType: meta.checksum?.type,
      Part: parts.map(({ checksum, etag, lastModified, part, size }) => ({
        PartNumber: part,
        LastModified: lastModified.toISOString(),
        ETag: `"${etag}"`,
        Size: size,
        [`Checksum${checksum?.algorithm}`]: checksum?.value
      }))
    })
  })
}

export const listUploads: S3Operation = {
  action: "s3:ListBucketMultipartUploads",
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const text = (name: string) => request.param(name) ?? ""
    const { encode, limit, type } = yield* tryS3(() => ({
      limit: limitParam(request, "max-uploads", 1000),
      ...encodingOf(request)
    }))
    const [prefix, delimiter] = [text("prefix"), text("delimiter")]
    const [keyMarker, uploadIdMarker] = [text("key-marker"), text("upload-id-marker")]
    const { more, next, prefixes, uploads } = yield* store.uploads(request.bucket, {
      prefix,
      delimiter,
      keyMarker,
      uploadIdMarker,
      limit: Math.max(1, limit)
    })
    return xmlReply("ListMultipartUploadsResult", {
      Bucket: request.bucket,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: uploadIdMarker,
      NextKeyMarker: next === undefined ? undefined : encode(next.keyMarker),
      NextUploadIdMarker: next?.uploadIdMarker,
      Prefix: encode(prefix),
      Delimiter: delimiter === "" ? undefined : encode(delimiter),
      EncodingType: type,
      MaxUploads: limit,
      IsTruncated: more,
      Upload: uploads.map(({ createdAt, key, uploadId }) => ({
        Key: encode(key),
        UploadId: uploadId,
        Initiator: ownerXml,
        Owner: ownerXml,
        StorageClass: "STANDARD",
        Initiated: createdAt.toISOString()
      })),
      CommonPrefixes: prefixes.map((each) => ({ Prefix: encode(each) }))
    })
  })
}
