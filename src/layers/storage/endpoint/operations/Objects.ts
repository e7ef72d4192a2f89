import { maxParts } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { isAllowed } from "../Authorization.ts"
import { emptyReply, type Exchange, type Operation, type Reply, xmlReply } from "../Exchange.ts"
import { asLatin1 } from "../../../../domain/text/HeaderText.ts"
import { checkKey, checksumHeaders, checkValue, headersOf, metaOf } from "../ObjectHeaders.ts"
import { checkMd5, maximumPut } from "../Payload.ts"
import { type ByteRange, precondition, rangeOf, removalCondition, writeCondition } from "../Preconditions.ts"
import { bodyHeaders, newObjectHeaders, removalHeaders } from "../RequestHeaders.ts"
import { type S3Error, s3Error } from "../Error.ts"
import { tryS3, type S3Request } from "../Request.ts"
import { type ObjectInfo } from "../store/Model.ts"

export const putObject: Operation = {
  action: "s3:PutObject",
  headers: [...bodyHeaders, ...newObjectHeaders],
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const { bucket, key } = request
    const plan = yield* tryS3(() => {
      checkKey(key)
      return { meta: metaOf(request), condition: writeCondition(request.header), body: payload() }
    })
    const blob = yield* store.write(plan.body.bytes, { limit: maximumPut })
    yield* tryS3(() => checkMd5(plan.body, blob.md5))
    const meta = { ...plan.meta, checksum: plan.body.checksum() }
    const info = yield* store.put(bucket, key, blob, meta, plan.condition)
    return emptyReply(200, { ETag: `"${info.etag}"`, ...checksumHeaders(info.checksum) })
  })
}

/** Callers without permission to list don't learn that a key is missing. */
const hideMissing = ({ bucketInfo, caller, request }: Exchange) =>
  Effect.mapError((error: S3Error) => {
    if (error.code !== "NoSuchKey" || bucketInfo === undefined) return error
    return isAllowed({ request, caller }, bucketInfo, "s3:ListBucket", "")
      ? s3Error("NoSuchKey", undefined, { Key: request.key })
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
    headers[header] = asLatin1(value)
  }
  return headers
}

/** The only version is `null`. Throws InvalidArgument. */
const checkVersion = ({ param }: S3Request) => {
  const version = param("versionId")
  if (version !== undefined && version !== "null") {
    throw s3Error("InvalidArgument", "Invalid version id specified", {
      ArgumentName: "versionId",
      ArgumentValue: version
    })
  }
}

interface ObjectReply {
  readonly reply: Reply
  readonly range: ByteRange
}

/** The part of the response common to GET and HEAD, and the range of bytes to send. Throws S3Errors. */
const describe = (exchange: Exchange, info: ObjectInfo): ObjectReply => {
  const { header, param } = exchange.request
  const whole = { start: 0, end: info.size - 1 }
  const changed = overridden(exchange)
  const checksums = header("x-amz-checksum-mode")?.toUpperCase() === "ENABLED"
  if (precondition(header, info) === "not modified") {
    const { "Content-Type": _type, ...headers } = headersOf(info, false)
    return { reply: emptyReply(304, headers), range: whole }
  }
  const part = param("partNumber")
  const partOnly = part === undefined ? undefined : partRange(info, part, header("range"))
  const range = partOnly ?? (rangeApplies(header, info) ? rangeOf(header("range"), info.size) : undefined)
  const selected = range ?? whole
  const base = { ...headersOf(info, checksums && range === undefined), ...changed }
  const length = { "Content-Length": String(selected.end - selected.start + 1) }
  if (range === undefined) return { reply: { status: 200, headers: { ...base, ...length } }, range: selected }
  const place = info.size === 0 ? {} : { "Content-Range": `bytes ${range.start}-${range.end}/${info.size}` }
  const count = partOnly === undefined || info.partSizes.length < 2 ? undefined : info.partSizes.length
  const parts = count === undefined ? {} : { "x-amz-mp-parts-count": String(count) }
  return { reply: { status: 206, headers: { ...base, ...length, ...place, ...parts } }, range: selected }
}

/** Whether the Range header applies, by If-Range. */
const rangeApplies = (header: (name: string) => string | undefined, info: ObjectInfo) => {
  const validator = header("if-range")?.trim()
  if (validator === undefined || validator === `"${info.etag}"`) return true
  return Date.parse(validator) === Math.floor(info.lastModified.getTime() / 1000) * 1000
}

const partRange = (info: ObjectInfo, text: string, range: string | undefined): ByteRange => {
  const part = partNumber(text)
  if (range !== undefined) {
    throw s3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
  }
  const sizes = info.partSizes.length === 0 ? [info.size] : info.partSizes
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

export const getObject: Operation = {
  action: "s3:GetObject",
  headers: ["x-amz-checksum-mode"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { bucket, key } = exchange.request
    yield* tryS3(() => checkVersion(exchange.request))
    const { info, open } = yield* exchange.store.get(bucket, key).pipe(hideMissing(exchange))
    const { range, reply } = yield* tryS3(() => describe(exchange, info))
    if (reply.status === 304) return reply
    if (range.end < range.start) return { ...reply, headers: { ...reply.headers, "Content-Length": "0" } }
    return { ...reply, body: () => open(range.start, range.end) }
  })
}

export const headObject: Operation = {
  action: "s3:GetObject",
  headers: ["x-amz-checksum-mode"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { bucket, key } = exchange.request
    yield* tryS3(() => checkVersion(exchange.request))
    const info = yield* exchange.store.head(bucket, key).pipe(hideMissing(exchange))
    return yield* tryS3(() => describe(exchange, info).reply)
  })
}

export const deleteObject: Operation = {
  action: "s3:DeleteObject",
  headers: [...removalHeaders, "x-amz-if-match-last-modified-time", "x-amz-if-match-size"],
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const condition = yield* tryS3(() => {
      checkVersion(request)
      const given = removalCondition(
        request.header("if-match"),
        request.header("x-amz-if-match-last-modified-time"),
        request.header("x-amz-if-match-size")
      )
      if (given === undefined) throw s3Error("InvalidArgument", "The condition of the deletion is invalid")
      return { ...writeCondition(request.header), ...given }
    })
    yield* store.remove(request.bucket, [request.key], condition)
    return emptyReply(204)
  })
}

export const getObjectAttributes: Operation = {
  action: "s3:GetObjectAttributes",
  headers: ["x-amz-object-attributes"],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { bucket, header, key } = exchange.request
    const names = (header("x-amz-object-attributes") ?? "").split(",").map((name) => name.trim())
    const valid = new Set(["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"])
    yield* tryS3(() => {
      checkVersion(exchange.request)
      if (!names.every((name) => valid.has(name))) {
        throw s3Error("InvalidArgument", "Invalid attribute name specified.")
      }
    })
    const info = yield* exchange.store.head(bucket, key).pipe(hideMissing(exchange))
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
        ObjectParts: requested(
          "ObjectParts",
          info.partSizes.length > 1 ? { PartsCount: info.partSizes.length } : undefined
        ),
        StorageClass: requested("StorageClass", "STANDARD"),
        ObjectSize: requested("ObjectSize", info.size)
      },
      { "Last-Modified": info.lastModified.toUTCString() }
    )
  })
}
