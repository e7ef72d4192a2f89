import { Effect } from "effect"
import { emptyReply, type Exchange, ownerXml, type S3Operation, xmlReply } from "../Exchange.ts"
import { s3Error } from "../Error.ts"
import { readDocument } from "../Payload.ts"
import { tryS3 } from "../Request.ts"
import { bodyHeaders, listingHeaders } from "../RequestHeaders.ts"
import { type BucketVersioning, type VersionInfo, type VersionListing } from "../store/Model.ts"
import { childText, parseXml } from "../Xml.ts"
import { listingParams, objectXml, optional } from "./Listing.ts"

export const getVersioning: S3Operation = {
  action: "s3:GetBucketVersioning",
  run: ({ bucketInfo }) => Effect.succeed(xmlReply("VersioningConfiguration", { Status: bucketInfo?.versioning }))
}

/** Throws MalformedXML and similar errors, and NotImplemented for MFA Delete. */
const parseVersioning = (text: string): BucketVersioning => {
  const root = parseXml(text, "VersioningConfiguration")
  const [status, mfaDelete] = [childText(root, "Status")?.trim(), childText(root, "MfaDelete")?.trim()]
  if (mfaDelete !== undefined && mfaDelete !== "Disabled") {
    throw s3Error("NotImplemented", "MFA Delete is not supported", { Header: "x-amz-mfa" })
  }
  if (status === undefined) throw s3Error("IllegalVersioningConfigurationException")
  if (status !== "Enabled" && status !== "Suspended") throw s3Error("MalformedXML")
  return status
}

export const putVersioning: S3Operation = {
  action: "s3:PutBucketVersioning",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    yield* store.setDocument(request.bucket, "versioning", yield* tryS3(() => parseVersioning(text)))
    return emptyReply(200)
  })
}

const versionXml = (info: VersionInfo, encode: (name: string) => string) => {
  const version = { VersionId: info.versionId ?? "null", IsLatest: info.isLatest, Owner: ownerXml }
  return info.isMarker
    ? { DeleteMarker: { Key: encode(info.key), LastModified: info.lastModified.toISOString(), ...version } }
    : { Version: objectXml(info, encode, version) }
}

const nothing: VersionListing = { versions: [], prefixes: [], next: undefined }

export const listObjectVersions: S3Operation = {
  action: "s3:ListBucketVersions",
  headers: listingHeaders,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request, store } = exchange
    const { delimiter, encode, limit, prefix, type } = yield* tryS3(() => listingParams(exchange))
    const [keyMarker, versionIdMarker] = [request.param("key-marker") ?? "", request.param("version-id-marker") ?? ""]
    if (keyMarker === "" && versionIdMarker !== "") {
      return yield* s3Error("InvalidArgument", "A version-id marker cannot be specified without a key marker.", {
        ArgumentName: "version-id-marker",
        ArgumentValue: versionIdMarker
      })
    }
    const options = { prefix, delimiter, keyMarker, versionIdMarker, limit }
    const page = limit === 0 ? nothing : yield* store.versions(request.bucket, options)
    return xmlReply("ListVersionsResult", {
      Name: request.bucket,
      Prefix: encode(prefix),
      KeyMarker: encode(keyMarker),
      VersionIdMarker: versionIdMarker,
      NextKeyMarker: page.next && encode(page.next.keyMarker),
      NextVersionIdMarker: page.next && optional(page.next.versionIdMarker, (marker) => marker),
      MaxKeys: limit,
      Delimiter: optional(delimiter, encode),
      EncodingType: type,
      IsTruncated: page.next !== undefined,
      // Versions and delete markers are in one order.
      "": page.versions.map((info) => versionXml(info, encode)),
      CommonPrefixes: page.prefixes.map((each) => ({ Prefix: encode(each) }))
    })
  })
}
