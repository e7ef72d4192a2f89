import { maxKeys } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { encodingOf, type Exchange, limitParam, type S3Operation, ownerXml, xmlReply } from "../Exchange.ts"
import { listingHeaders } from "../RequestHeaders.ts"
import { s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { type Listing, type ObjectInfo } from "../store/Model.ts"
import { type XmlElements } from "../Xml.ts"

/** The parameters common to all listings. Throws InvalidArgument. */
export const listingParams = ({ request }: Exchange) => ({
  prefix: request.param("prefix") ?? "",
  delimiter: request.param("delimiter") ?? "",
  limit: limitParam(request, "max-keys", maxKeys),
  ...encodingOf(request)
})

type Common = ReturnType<typeof listingParams>

const nothing: Listing = { objects: [], prefixes: [], next: undefined }

const page = ({ at, request, store }: Exchange, { delimiter, limit, prefix }: Common, after: string) => {
  if (limit === 0) return Effect.as(store.bucket(request.bucket), nothing)
  const options = { prefix, delimiter, after, limit }
  return at === undefined ? store.list(request.bucket, options) : store.history.list(request.bucket, options, at)
}

export const objectXml = (info: Omit<ObjectInfo, "parts">, encode: (name: string) => string, more: XmlElements) => ({
  Key: encode(info.key),
  LastModified: info.lastModified.toISOString(),
  ETag: `"${info.etag}"`,
  ChecksumAlgorithm: info.checksum?.algorithm,
  ChecksumType: info.checksum?.type,
  Size: info.size,
  StorageClass: "STANDARD",
  ...more
})

export const optional = (text: string, encode: (name: string) => string) => (text === "" ? undefined : encode(text))

export const listObjects: S3Operation = {
  action: "s3:ListBucket",
  past: true,
  headers: listingHeaders,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request } = exchange
    const options = yield* tryS3(() => listingParams(exchange))
    const { delimiter, encode, limit, prefix, type } = options
    const marker = request.param("marker") ?? ""
    const { next, objects, prefixes } = yield* page(exchange, options, marker)
    return xmlReply("ListBucketResult", {
      Name: request.bucket,
      Prefix: encode(prefix),
      Marker: encode(marker),
      NextMarker: next === undefined ? undefined : encode(next),
      MaxKeys: limit,
      Delimiter: optional(delimiter, encode),
      EncodingType: type,
      IsTruncated: next !== undefined,
      Contents: objects.map((info) => objectXml(info, encode, { Owner: ownerXml })),
      CommonPrefixes: prefixes.map((each) => ({ Prefix: encode(each) }))
    })
  })
}

/** Opaque to clients. */
const tokenOf = (after: string) => `1${Buffer.from(after).toString("base64url")}`

const parseToken = (token: string) => {
  const after = Buffer.from(token.slice(1), "base64url").toString("utf8")
  if (tokenOf(after) !== token) throw s3Error("InvalidArgument", "The continuation token provided is incorrect")
  return after
}

export const listObjectsV2: S3Operation = {
  action: "s3:ListBucket",
  past: true,
  headers: listingHeaders,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request } = exchange
    const token = request.param("continuation-token")
    const startAfter = request.param("start-after") ?? ""
    const { after, options } = yield* tryS3(() => ({
      options: listingParams(exchange),
      after: token === undefined ? startAfter : parseToken(token)
    }))
    const { delimiter, encode, limit, prefix, type } = options
    const { next, objects, prefixes } = yield* page(exchange, options, after)
    const withOwner = request.param("fetch-owner") === "true"
    return xmlReply("ListBucketResult", {
      Name: request.bucket,
      Prefix: encode(prefix),
      StartAfter: optional(startAfter, encode),
      ContinuationToken: token,
      NextContinuationToken: next === undefined ? undefined : tokenOf(next),
      KeyCount: objects.length + prefixes.length,
      MaxKeys: limit,
      Delimiter: optional(delimiter, encode),
      EncodingType: type,
      IsTruncated: next !== undefined,
      Contents: objects.map((info) => objectXml(info, encode, withOwner ? { Owner: ownerXml } : {})),
      CommonPrefixes: prefixes.map((each) => ({ Prefix: encode(each) }))
    })
  })
}
