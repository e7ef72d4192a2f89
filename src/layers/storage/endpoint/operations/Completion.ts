import { maxParts } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { algorithms, checksumOfParts, isChecksum, sentChecksum } from "../Checksums.ts"
import { checksumXml } from "./Copies.ts"
import { type Exchange, type S3Operation, versionHeader, xmlReply } from "../Exchange.ts"
import { bodyHeaders } from "../RequestHeaders.ts"
import { type S3Error, s3Error } from "../Error.ts"
import { invalidChecksum, readDocument } from "../Payload.ts"
import { bareEtag, writeCondition } from "../Preconditions.ts"
import { tryS3, tryS3Promise, type S3Request } from "../Request.ts"
import { type Checksum, type CompletedPart, type ObjectInfo, type PartInfo, type LocalStore } from "../store/Model.ts"
import { uploadIdOf } from "./Uploads.ts"
import { children, childText, parseXml, xmlText, type XmlNode } from "../Xml.ts"

export const completeUpload: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: [...bodyHeaders, "x-amz-checksum-type", "x-amz-mp-object-size"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { payload, request, store } = exchange
    const { bucket, header, key } = request
    const uploadId = uploadIdOf(request)
    const expected = yield* tryS3(() => expectationOf(request))
    const document = yield* readDocument(yield* tryS3(() => payload({ checksumOf: "object" })))
    const { condition, requested } = yield* tryS3(() => ({
      requested: children(parseXml(document, "CompleteMultipartUpload"), "Part").map(parsePart),
      condition: writeCondition(header)
    }))
    if (requested.length === 0) return yield* s3Error("MalformedXML")
    const open = yield* openUpload(store, request)
    const checksum =
      open === undefined ? undefined : yield* objectChecksum(open.checksum, expected, requested, open.parts)
    const info = yield* store.completeUpload(bucket, key, uploadId, requested, condition, checksum)
    if (open === undefined) yield* tryS3(() => checkRepeated(expected, info))
    const host = request.message.headers.host ?? "localhost"
    const Location = `http://${host}/${encodeURIComponent(bucket)}/${key.split("/").map(encodeURIComponent).join("/")}`
    return xmlReply(
      "CompleteMultipartUploadResult",
      { Location, Bucket: bucket, Key: key, ETag: `"${info.etag}"`, ...checksumXml(info.checksum) },
      versionHeader(exchange, info)
    )
  })
}

const parsePart = (node: XmlNode): CompletedPart => {
  const [number, etag] = [childText(node, "PartNumber")?.trim(), childText(node, "ETag")]
  if (number === undefined || etag === undefined || !/^\d{1,9}$/.test(number)) throw s3Error("MalformedXML")
  const checksum = algorithms.flatMap((algorithm) => children(node, `Checksum${algorithm}`).map(xmlText))[0]
  return { part: Number(number), etag: bareEtag(etag), checksum: checksum?.trim() }
}

/** The requirements of the headers on the object that the parts will make. */
interface Expectation {
  /** The value without the suffix `-<parts>`, which clients may omit. */
  readonly checksum: Pick<Checksum, "algorithm" | "value"> | undefined
  /** Whether the value had the suffix. */
  readonly suffix: string | undefined
  readonly type: string | undefined
  /** Bytes. */
  readonly size: number | undefined
}

/** Throws InvalidRequest. */
const expectationOf = ({ header }: S3Request): Expectation => {
  const sent = sentChecksum(header)
  const [, value = "", suffix] = /^(.*?)(?:-(\d{1,5}))?$/.exec(sent?.value ?? "") ?? []
  if (sent !== undefined && !isChecksum(sent.algorithm, value)) throw invalidChecksum(sent.algorithm)
  const size = header("x-amz-mp-object-size")
  if (size !== undefined && !/^\d{1,15}$/.test(size)) {
    throw s3Error("InvalidRequest", "The value of x-amz-mp-object-size must be a number of bytes")
  }
  return {
    checksum: sent === undefined ? undefined : { algorithm: sent.algorithm, value },
    suffix,
    type: header("x-amz-checksum-type")?.toUpperCase(),
    size: size === undefined ? undefined : Number(size)
  }
}

/** Undefined if the upload may have been completed already: the store then repeats its answer. */
const openUpload = Effect.fnUntraced(
  function* (store: LocalStore, request: S3Request) {
    const { bucket, key } = request
    const { meta } = yield* store.upload(bucket, key, uploadIdOf(request))
    const { parts } = yield* store.parts(bucket, key, uploadIdOf(request), 0, maxParts)
    return { checksum: meta.checksum, parts: new Map(parts.map((part) => [part.part, part])) }
  },
  Effect.catchIf(
    (error) => error.code === "NoSuchUpload",
    () => Effect.undefined
  )
)

/**
 * The object's checksum from those of its parts, after comparing it and the size with what the client expects. Undefined
 * without any checksum, or if a part is missing, which the store reports. Fails with BadDigest and InvalidRequest.
 */
const objectChecksum = (
  announced: Checksum | undefined,
  expected: Expectation,
  requested: ReadonlyArray<CompletedPart>,
  stored: ReadonlyMap<number, PartInfo>
): Effect.Effect<Checksum | undefined, S3Error> =>
  tryS3Promise(async () => {
    const parts = requested.flatMap(({ part }) => stored.get(part) ?? [])
    if (parts.length < requested.length) return undefined
    checkSize(
      expected,
      parts.reduce((sum, { size }) => sum + size, 0)
    )
    const kind = announced ?? impliedKind(expected)
    if (kind === undefined) return undefined
    checkKind(expected, kind)
    const pieces = parts.flatMap(({ checksum, size }) =>
      checksum?.algorithm === kind.algorithm ? [{ value: checksum.value, size }] : []
    )
    if (pieces.length < parts.length) {
      throw s3Error(
        "InvalidRequest",
        `The upload has parts without a ${kind.algorithm} checksum. Send x-amz-checksum-algorithm when you create the upload.`
      )
    }
    const checksum = { ...kind, value: await checksumOfParts(kind, pieces) }
    checkValue(expected, checksum)
    return checksum
  })

/** The kind of the checksum that is expected of an upload that announced none. */
const impliedKind = ({ checksum, suffix, type }: Expectation): Omit<Checksum, "value"> | undefined => {
  if (checksum === undefined) {
    if (type === undefined) return undefined
    throw s3Error("BadDigest", "The upload was created without a checksum type.")
  }
  const composite = type === undefined ? suffix !== undefined : type === "COMPOSITE"
  return { algorithm: checksum.algorithm, type: composite ? "COMPOSITE" : "FULL_OBJECT" }
}

const checkSize = ({ size }: Expectation, found: number) => {
  if (size === undefined || size === found) return
  throw s3Error(
    "InvalidRequest",
    `The value of x-amz-mp-object-size does not match the size of the parts, ${found} bytes`
  )
}

const checkKind = ({ checksum, type }: Expectation, kind: Omit<Checksum, "value">) => {
  if (type !== undefined && type !== kind.type) {
    throw s3Error("BadDigest", `The upload was created with the checksum type ${kind.type}.`)
  }
  if (checksum !== undefined && checksum.algorithm !== kind.algorithm) {
    throw s3Error(
      "InvalidRequest",
      `Checksum Type mismatch occurred, expected checksum Type: ${kind.algorithm.toLowerCase()}, actual checksum Type: ${checksum.algorithm.toLowerCase()}`
    )
  }
}

const checkValue = ({ checksum, suffix }: Expectation, found: Checksum) => {
  if (checksum === undefined) return
  const [value, parts] = found.value.split("-")
  if (checksum.value !== value || (suffix !== undefined && suffix !== parts)) {
    throw s3Error("BadDigest", `The ${checksum.algorithm} you specified did not match the calculated checksum.`)
  }
}

/** Checks the object of an upload that was completed before. */
const checkRepeated = (expected: Expectation, info: ObjectInfo) => {
  checkSize(expected, info.size)
  if (info.checksum === undefined) {
    if (impliedKind(expected) !== undefined) throw s3Error("BadDigest", "The object has no checksum.")
    return
  }
  checkKind(expected, info.checksum)
  checkValue(expected, info.checksum)
}
