import { Effect } from "effect"
import { type Algorithm, namedAlgorithm } from "../Checksums.ts"
import { copyBytes, copySource, sourceHeader } from "./Copies.ts"
import { emptyReply, type Exchange, type S3Operation, xmlReply } from "../Exchange.ts"
import { checkKey, checksumHeaders } from "../ObjectHeaders.ts"
import { partNumber, taggedMeta } from "./Objects.ts"
import { checkMd5, maximumPut } from "../Payload.ts"
import { type ObjectRange } from "../Preconditions.ts"
import { bodyHeaders, copySourceHeaders, newObjectHeaders } from "../RequestHeaders.ts"
import { type S3Error, s3Error } from "../Error.ts"
import { tryS3, type S3Request } from "../Request.ts"
import { type Checksum, type LocalStore } from "../store/Model.ts"

export const uploadIdOf = ({ param }: S3Request) => param("uploadId") ?? ""

export const createUpload: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: [...newObjectHeaders, "x-amz-checksum-algorithm", "x-amz-checksum-type"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request, store } = exchange
    const { bucket, key } = request
    const { checksum, meta } = yield* tryS3(() => {
      checkKey(key)
      return { meta: taggedMeta(exchange), checksum: announcedChecksum(request) }
    })
    const UploadId = yield* store.createUpload(bucket, key, { ...meta, checksum })
    const headers: Readonly<Record<string, string>> =
      checksum === undefined
        ? {}
        : { "x-amz-checksum-algorithm": checksum.algorithm, "x-amz-checksum-type": checksum.type }
    return xmlReply("InitiateMultipartUploadResult", { Bucket: bucket, Key: key, UploadId }, headers)
  })
}

/** The kind of checksum that the object will have; its value is not known yet. Throws InvalidRequest. */
const announcedChecksum = ({ header }: S3Request): Checksum | undefined => {
  const algorithm = namedAlgorithm(header("x-amz-checksum-algorithm"))
  const type = header("x-amz-checksum-type")?.toUpperCase()
  if (algorithm === undefined) {
    if (type === undefined) return undefined
    throw s3Error(
      "InvalidRequest",
      "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
    )
  }
  const defaultType = algorithm === "CRC64NVME" ? "FULL_OBJECT" : "COMPOSITE"
  const full = algorithm.startsWith("CRC")
  const possible =
    type === undefined || (type === "FULL_OBJECT" && full) || (type === "COMPOSITE" && algorithm !== "CRC64NVME")
  if (!possible) {
    throw s3Error(
      "InvalidRequest",
      `The ${type} checksum type cannot be used with the ${algorithm} checksum algorithm.`
    )
  }
  return { algorithm, value: "", type: type === undefined ? defaultType : type === "FULL_OBJECT" ? type : "COMPOSITE" }
}

/** The checksum algorithm required for the upload's parts. */
const algorithmOf = (
  store: LocalStore,
  { bucket, key, param }: S3Request
): Effect.Effect<Algorithm | undefined, S3Error> =>
  Effect.map(store.upload(bucket, key, param("uploadId") ?? ""), ({ meta }) => meta.checksum?.algorithm)

export const uploadPart: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const { bucket, key } = request
    const part = yield* tryS3(() => partNumber(request.param("partNumber")))
    const algorithm = yield* algorithmOf(store, request)
    const body = yield* tryS3(() => payload({ algorithm }))
    const blob = yield* store.write(body.bytes, { limit: maximumPut })
    const checksum = body.checksum()
    yield* tryS3(() => {
      checkMd5(body, blob.md5)
      if (algorithm !== undefined && checksum?.algorithm !== algorithm) {
        throw s3Error(
          "InvalidRequest",
          `Checksum Type mismatch occurred, expected checksum Type: ${algorithm.toLowerCase()}, actual checksum Type: ${checksum?.algorithm.toLowerCase() ?? "null"}`
        )
      }
    })
    yield* store.putPart(bucket, key, uploadIdOf(request), part, blob, checksum)
    const { "x-amz-checksum-type": _type, ...sum } = checksumHeaders(checksum)
    return emptyReply(200, { ETag: `"${blob.md5}"`, ...sum })
  })
}

export const uploadPartCopy: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: [...copySourceHeaders, "x-amz-copy-source-range"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request, store } = exchange
    const { bucket, header, key } = request
    const part = yield* tryS3(() => partNumber(request.param("partNumber")))
    const algorithm = yield* algorithmOf(store, request)
    const source = yield* copySource(exchange)
    const range = yield* tryS3(() => copyRange(header("x-amz-copy-source-range"), source.size))
    const size = range === undefined ? source.size : range.end - range.start + 1
    if (size > maximumPut) {
      return yield* s3Error(
        "InvalidRequest",
        `The specified copy source is larger than the maximum allowable size for a copy source: ${maximumPut}`
      )
    }
    const { blob, checksum } = yield* copyBytes(exchange, source, range, algorithm)
    yield* store.putPart(bucket, key, uploadIdOf(request), part, blob, checksum)
    const sum = checksum === undefined ? {} : { [`Checksum${checksum.algorithm}`]: checksum.value }
    return xmlReply(
      "CopyPartResult",
      { LastModified: new Date().toISOString(), ETag: `"${blob.md5}"`, ...sum },
      sourceHeader(source)
    )
  })
}

/** Stricter than a Range header: `bytes=first-last` within the object. Throws InvalidArgument. */
const copyRange = (text: string | undefined, size: number): ObjectRange | undefined => {
  if (text === undefined) return undefined
  const match = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(text)
  const [start, end] = [Number(match?.[1]), Number(match?.[2])]
  if (match === null || start > end) {
    throw s3Error(
      "InvalidArgument",
      "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy",
      { ArgumentName: "x-amz-copy-source-range", ArgumentValue: text }
    )
  }
  if (end >= size) {
    throw s3Error("InvalidArgument", `Range specified is not valid for source object of size: ${size}`, {
      ArgumentName: "x-amz-copy-source-range",
      ArgumentValue: text
    })
  }
  return { start, end }
}

export const abortUpload: S3Operation = {
  action: "s3:AbortMultipartUpload",
  headers: ["x-amz-if-match-initiated-time"],
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const { bucket, header, key } = request
    const initiated = header("x-amz-if-match-initiated-time")
    if (initiated !== undefined) {
      const { createdAt } = yield* store.upload(bucket, key, uploadIdOf(request))
      if (Math.floor(createdAt.getTime() / 1000) !== Math.floor(Date.parse(initiated) / 1000)) {
        return yield* s3Error("PreconditionFailed", undefined, { Condition: "x-amz-if-match-initiated-time" })
      }
    }
    yield* store.abortUpload(bucket, key, uploadIdOf(request))
    return emptyReply(204)
  })
}
