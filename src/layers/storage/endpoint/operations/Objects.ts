import { maxParts } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { authorize, isAllowed } from "../Authorization.ts"
import {
  emptyReply,
  type Exchange,
  foundObject,
  limitParam,
  openedObject,
  type S3Operation,
  type Reply,
  versionHeader,
  versionParam,
  xmlReply
} from "../Exchange.ts"
import { byteString } from "../../../../domain/text/Utf8.ts"
import { checkKey, checksumHeaders, checkValue, objectHeadersOf, metaOf } from "../ObjectHeaders.ts"
import { checkMd5, maximumPut } from "../Payload.ts"
import { type ObjectRange, precondition, rangeOf, removalCondition, writeCondition } from "../Preconditions.ts"
import { bodyHeaders, newObjectHeaders, removalHeaders } from "../RequestHeaders.ts"
import { type S3Error, s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { type BucketInfo, type ObjectInfo, type RemovedVersion } from "../store/Model.ts"

export const putObject: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: [...bodyHeaders, ...newObjectHeaders],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { payload, request, store } = exchange
    const { bucket, key } = request
    const plan = yield* tryS3(() => {
      checkKey(key)
      return { meta: taggedMeta(exchange), condition: writeCondition(request.header), body: payload() }
    })
    const blob = yield* store.write(plan.body.bytes, { limit: maximumPut })
    yield* tryS3(() => checkMd5(plan.body, blob.md5))
    const meta = { ...plan.meta, checksum: plan.body.checksum() }
    const info = yield* store.put(bucket, key, blob, meta, plan.condition)
    return emptyReply(200, {
      ETag: `"${info.etag}"`,
      ...checksumHeaders(info.checksum),
      ...versionHeader(exchange, info)
    })
  })
}

/** The metadata for a new object. Tags need a permission of their own. Throws S3Errors. */
export const taggedMeta = ({ bucketInfo, caller, request }: Exchange) => {
  const meta = metaOf(request)
  if (meta.tags.length > 0 && bucketInfo !== undefined) {
    authorize({ request, caller }, bucketInfo, "s3:PutObjectTagging", request.key)
  }
  return meta
}

/** Callers without permission to list get no hint that a key or version is missing. */
const hideMissing = ({ bucketInfo, caller, request }: Exchange) =>
  Effect.mapError((error: S3Error) => {
    if (!["NoSuchKey", "NoSuchVersion"].includes(error.code) || bucketInfo === undefined) return error
    return isAllowed({ request, caller }, bucketInfo, "s3:ListBucket", "")
      ? error
      : s3Error("AccessDenied", "Access Denied")
  })

const overrides = [
  ["response-content-type", "Content-Type"],
  ["response-content-language", "content-language"],
  ["response-expires", "expires"],
  ["response-cache-control", "cache-control"],
  ["response-content-disposition", "content-disposition"],
  ["response-content-encoding", "content-encoding"]
] as const

/** Response headers set by query parameters. Throws InvalidRequest for anonymous requests. */
const overridden = ({ caller, request }: Exchange) => {
  const headers: Record<string, string> = {}
  for (const [param, header] of overrides) {
    const value = request.param(param)
    if (value === undefined) continue
    if (caller === undefined) {
      throw s3Error("InvalidRequest", "Request specific response headers cannot be used for anonymous GET requests.")
    }
    checkValue(param, value)
    headers[header] = byteString(value)
  }
  return headers
}

interface ObjectReply {
  readonly reply: Reply
  readonly range: ObjectRange
}

/** The part of the response common to GET and HEAD, and the range of bytes to send. Throws S3Errors. */
const describe = (exchange: Exchange, info: ObjectInfo): ObjectReply => {
  const { header, param } = exchange.request
  const whole = { start: 0, end: info.size - 1 }
  const changed = overridden(exchange)
  const checksums = header("x-amz-checksum-mode")?.toUpperCase() === "ENABLED"
  if (precondition(header, info) === "not modified") {
    const { "Content-Type": _type, ...headers } = objectHeadersOf(info, false)
    return { reply: emptyReply(304, { ...headers, ...versionHeader(exchange, info) }), range: whole }
  }
  const part = param("partNumber")
  const partOnly = part === undefined ? undefined : partRange(info, part, header("range"))
  const range = partOnly ?? (rangeApplies(header, info) ? rangeOf(header("range"), info.size) : undefined)
  const selected = range ?? whole
  const base = {
    ...objectHeadersOf(info, checksums && range === undefined),
    ...versionHeader(exchange, info),
    ...tagCount(exchange, info),
    ...changed
  }
  const length = { "Content-Length": String(selected.end - selected.start + 1) }
  if (range === undefined) return { reply: { status: 200, headers: { ...base, ...length } }, range: selected }
  const place = info.size === 0 ? {} : { "Content-Range": `bytes ${range.start}-${range.end}/${info.size}` }
  const parts =
    partOnly === undefined || !isMultipart(info) ? {} : { "x-amz-mp-parts-count": String(info.parts.length) }
  return { reply: { status: 206, headers: { ...base, ...length, ...place, ...parts } }, range: selected }
}

const mayReadTags = (requester: Pick<Exchange, "request" | "caller">, bucket: BucketInfo) => {
  const { key, param } = requester.request
  const version = param("versionId")
  return version === undefined
    ? isAllowed(requester, bucket, "s3:GetObjectTagging", key)
    : isAllowed(requester, bucket, "s3:GetObjectVersionTagging", key, version)
}

/** The number of tags, for callers who may read them. */
const tagCount = ({ bucketInfo, caller, request }: Exchange, { tags }: ObjectInfo): Readonly<Record<string, string>> =>
  tags.length > 0 && bucketInfo !== undefined && mayReadTags({ request, caller }, bucketInfo)
    ? { "x-amz-tagging-count": String(tags.length) }
    : {}

/** Objects of uploads in parts have an ETag of their own kind, even with a single part. */
const isMultipart = ({ etag }: ObjectInfo) => etag.includes("-")

/** Whether the Range header applies, by If-Range. */
const rangeApplies = (header: (name: string) => string | undefined, info: ObjectInfo) => {
  const validator = header("if-range")?.trim()
  if (validator === undefined || validator === `"${info.etag}"`) return true
  return Date.parse(validator) === Math.floor(info.lastModified.getTime() / 1000) * 1000
}

const partRange = (info: ObjectInfo, text: string, range: string | undefined): ObjectRange => {
  const part = partNumber(text)
  if (range !== undefined) {
    throw s3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
  }
  const sizes = info.parts.length === 0 ? [info.size] : info.parts.map(({ size }) => size)
  const size = sizes[part - 1]
  if (size === undefined) {
    throw s3Error("InvalidPartNumber", undefined, {
      PartNumberRequested: text,
      ActualPartCount: String(sizes.length)
    })
  }
  const start = sizes.slice(0, part - 1).reduce((sum, each) => sum + each, 0)
  return { start, end: start + size - 1 }
}

/** Throws InvalidArgument. */
export const partNumber = (text: string | undefined): number => {
  const part = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0
  if (part < 1 || part > maxParts) {
    throw s3Error("InvalidArgument", `Part number must be an integer between 1 and ${maxParts}, inclusive`, {
      ArgumentName: "partNumber",
      ArgumentValue: text ?? ""
    })
  }
  return part
}

export const getObject: S3Operation = {
  action: "s3:GetObject",
  versionAction: "s3:GetObjectVersion",
  past: true,
  onBytes: true,
  headers: ["x-amz-checksum-mode"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const version = yield* tryS3(() => versionParam(exchange.request))
    const { info, open } = yield* openedObject(exchange, version).pipe(hideMissing(exchange))
    const { range, reply } = yield* tryS3(() => describe(exchange, info))
    if (reply.status === 304) return reply
    if (range.end < range.start) return { ...reply, headers: { ...reply.headers, "Content-Length": "0" } }
    return { ...reply, body: () => open(range.start, range.end) }
  })
}

export const headObject: S3Operation = {
  action: "s3:GetObject",
  versionAction: "s3:GetObjectVersion",
  past: true,
  onBytes: true,
  headers: ["x-amz-checksum-mode"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const version = yield* tryS3(() => versionParam(exchange.request))
    const info = yield* foundObject(exchange, version).pipe(hideMissing(exchange))
    return yield* tryS3(() => describe(exchange, info).reply)
  })
}

export const deleteObject: S3Operation = {
  action: "s3:DeleteObject",
  versionAction: "s3:DeleteObjectVersion",
  headers: [...removalHeaders, "x-amz-if-match-last-modified-time", "x-amz-if-match-size"],
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const target = yield* tryS3(() => {
      const given = removalCondition(
        request.header("if-match"),
        request.header("x-amz-if-match-last-modified-time"),
        request.header("x-amz-if-match-size")
      )
      if (given === undefined) throw s3Error("InvalidArgument", "The condition of the deletion is invalid")
      const condition = { ...writeCondition(request.header), ...given }
      return { key: request.key, version: versionParam(request), condition }
    })
    const [removed] = yield* store.remove(request.bucket, [target])
    return emptyReply(204, removalHeadersOf(removed))
  })
}

const removalHeadersOf = ({ marker, version }: RemovedVersion = {}): Readonly<Record<string, string>> => ({
  ...(version === undefined ? {} : { "x-amz-version-id": version }),
  ...(marker === true ? { "x-amz-delete-marker": "true" } : {})
})

/** The parts are listed only if they have checksums, as in S3. */
const partsXml = (
  { checksum, parts }: ObjectInfo,
  { after, limit }: { readonly after: number; readonly limit: number }
) => {
  if (checksum === undefined || parts.some((part) => part.checksum === undefined)) return { PartsCount: parts.length }
  const numbered = parts.map((part, index) => ({ ...part, number: index + 1 }))
  const listed = numbered.filter(({ number }) => number > after).slice(0, limit)
  const last = listed.at(-1)?.number ?? after
  return {
    PartsCount: parts.length,
    PartNumberMarker: after,
    NextPartNumberMarker: last,
    MaxParts: limit,
    IsTruncated: limit > 0 && last < parts.length,
    Part: listed.map((part) => ({
      PartNumber: part.number,
      Size: part.size,
      [`Checksum${checksum.algorithm}`]: part.checksum
    }))
  }
}

export const getObjectAttributes: S3Operation = {
  action: "s3:GetObjectAttributes",
  versionAction: "s3:GetObjectVersionAttributes",
  headers: ["x-amz-object-attributes", "x-amz-max-parts", "x-amz-part-number-marker"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { bucket, header, key } = exchange.request
    const names = (header("x-amz-object-attributes") ?? "").split(",").map((name) => name.trim())
    const valid = new Set(["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"])
    const page = yield* tryS3(() => {
      if (!names.every((name) => valid.has(name))) {
        throw s3Error("InvalidArgument", "Invalid attribute name specified.")
      }
      const limit = (name: string, ...bounds: [number, number?]) => limitParam({ param: header }, name, ...bounds)
      const version = versionParam(exchange.request)
      return {
        limit: limit("x-amz-max-parts", 1000),
        after: limit("x-amz-part-number-marker", 2 ** 31 - 1, 0),
        version
      }
    })
    const info = yield* exchange.store.head(bucket, key, page.version).pipe(hideMissing(exchange))
    const requested = <A>(name: string, value: A) => (names.includes(name) ? value : undefined)
    const sum = info.checksum
    return xmlReply(
      "GetObjectAttributesResponse",
      {
        ETag: requested("ETag", info.etag),
        Checksum: requested(
          "Checksum",
          sum === undefined
            ? undefined
            : { [`Checksum${sum.algorithm}`]: sum.value.replace(/-\d+$/, ""), ChecksumType: sum.type }
        ),
        ObjectParts: requested("ObjectParts", isMultipart(info) ? partsXml(info, page) : undefined),
        StorageClass: requested("StorageClass", "STANDARD"),
        ObjectSize: requested("ObjectSize", info.size)
      },
      { "Last-Modified": info.lastModified.toUTCString(), ...versionHeader(exchange, info) }
    )
  })
}
