import { checksumHeader } from "./Checksums.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type ObjectInfo, type ObjectMeta } from "./store/Model.ts"

export type PlainMeta = Omit<ObjectMeta, "checksum">

/** In bytes, names and values. */
const maximumUserMeta = 2048
const maximumKey = 1024

const kept = ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"]

/** Headers that ask for what is not there; silently ignoring them would be a lie. */
const unknown = [
  "x-amz-server-side-encryption",
  "x-amz-server-side-encryption-customer-algorithm",
  "x-amz-server-side-encryption-aws-kms-key-id",
  "x-amz-tagging",
  "x-amz-website-redirect-location",
  "x-amz-object-lock-mode",
  "x-amz-object-lock-retain-until-date",
  "x-amz-object-lock-legal-hold",
  "x-amz-write-offset-bytes"
]

const classes = new Set(
  "STANDARD REDUCED_REDUNDANCY STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING GLACIER DEEP_ARCHIVE GLACIER_IR".split(" ")
)

/** The metadata that a request brings for a new object. Throws S3Errors. */
export const metaOf = (request: S3Request): PlainMeta => {
  const entries = new Map<string, string>()
  for (const name of Object.keys(request.message.headers)) entries.set(name, request.header(name) ?? "")
  for (const [name] of request.query) {
    const lower = name.toLowerCase()
    const value = lower.startsWith("x-amz-") ? request.header(lower) : undefined
    if (value !== undefined && !entries.has(lower)) entries.set(lower, value)
  }
  return metaFrom(entries)
}

/** The same from names in lower case and values in latin1, as headers come. Throws S3Errors. */
export const metaFrom = (given: ReadonlyMap<string, string>): PlainMeta => {
  const refused = unknown.find((name) => given.has(name))
  if (refused !== undefined) {
    throw s3Error("NotImplemented", "A header you provided implies functionality that is not implemented", {
      Header: refused
    })
  }
  const acl = given.get("x-amz-acl") ?? "private"
  const granted = [...given.keys()].some((name) => name.startsWith("x-amz-grant-"))
  if (granted || !["private", "bucket-owner-full-control"].includes(acl)) {
    throw s3Error("AccessControlListNotSupported", "The bucket does not allow ACLs")
  }
  if (!classes.has(given.get("x-amz-storage-class") ?? "STANDARD")) throw s3Error("InvalidStorageClass")
  const headers: Record<string, string> = {}
  for (const name of kept) {
    const value = name === "content-encoding" ? withoutChunked(given.get(name)) : given.get(name)
    if (value !== undefined) headers[name] = readable(name, value)
  }
  const user: Record<string, string> = {}
  let size = 0
  for (const [name, value] of given) {
    if (!name.startsWith("x-amz-meta-")) continue
    const short = name.slice("x-amz-meta-".length)
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(short)) {
      throw s3Error("InvalidArgument", "A metadata name must be a header name", { ArgumentName: name })
    }
    user[short] = readable(name, value)
    size += short.length + Buffer.byteLength(user[short])
  }
  if (size > maximumUserMeta) {
    throw s3Error("MetadataTooLarge", undefined, { Size: String(size), MaxSizeAllowed: String(maximumUserMeta) })
  }
  return {
    contentType: readable("content-type", given.get("content-type") ?? "") || "binary/octet-stream",
    headers,
    user
  }
}

/** That was about the way here. */
const withoutChunked = (value: string | undefined) => {
  const rest = value
    ?.split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "aws-chunked" && each !== "")
  return rest === undefined || rest.length === 0 ? undefined : rest.join(",")
}

/** UTF-8 when it is that, else the latin1 that it is. */
const readable = (name: string, value: string) => {
  checkValue(name, value)
  const text = Buffer.from(value, "latin1").toString("utf8")
  return text.includes("\uFFFD") ? value : text
}

// eslint-disable-next-line no-control-regex -- these are what has to be found
const control = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** From a query or a form anything can come. Throws InvalidArgument. */
export const checkValue = (name: string, value: string) => {
  if (control.test(value)) {
    throw s3Error("InvalidArgument", "Header values may not contain control characters", { ArgumentName: name })
  }
}

/** As Node sends headers: a character a byte. */
export const wireValue = (value: string) => Buffer.from(value, "utf8").toString("latin1")

/** What GET and HEAD tell of an object; Content-Length apart. */
export const headersOf = (info: ObjectInfo, withChecksum: boolean): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {
    ETag: `"${info.etag}"`,
    "Last-Modified": info.lastModified.toUTCString(),
    "Content-Type": wireValue(info.contentType),
    "Accept-Ranges": "bytes"
  }
  for (const [name, value] of Object.entries(info.headers)) headers[name] = wireValue(value)
  for (const [name, value] of Object.entries(info.user)) headers[`x-amz-meta-${name}`] = mailSafe(value)
  return withChecksum ? { ...headers, ...checksumHeaders(info.checksum) } : headers
}

export const checksumHeaders = (checksum: ObjectMeta["checksum"]): Readonly<Record<string, string>> =>
  checksum === undefined
    ? {}
    : { [checksumHeader(checksum.algorithm)]: checksum.value, "x-amz-checksum-type": checksum.type }

/** RFC 2047 for what is not ASCII, as S3 does. */
const mailSafe = (value: string) =>
  /^[\x20-\x7e\t]*$/.test(value) ? value : `=?UTF-8?B?${Buffer.from(value).toString("base64")}?=`

/** Throws KeyTooLongError. */
export const checkKey = (key: string) => {
  const size = Buffer.byteLength(key)
  if (size > maximumKey) {
    throw s3Error("KeyTooLongError", undefined, { Size: String(size), MaxSizeAllowed: String(maximumKey) })
  }
}
