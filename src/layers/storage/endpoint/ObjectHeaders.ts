import { maxMetadataBytes } from "../../../domain/storage/Metadata.ts"
import { maxKeyBytes } from "../../../domain/storage/Object.ts"
import { encodeWords } from "../../../domain/storage/EncodedWords.ts"
import { checksumHeader } from "./Checksums.ts"
import { byteString, fromLatin1 } from "../../../domain/text/Utf8.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type ObjectInfo, type ObjectMeta } from "./store/Model.ts"
import { parseTagHeader } from "./tags/Tags.ts"

export type PlainMeta = Omit<ObjectMeta, "checksum">

const storedHeaders = ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"]

const storageClasses = new Set(
  "STANDARD REDUCED_REDUNDANCY STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING GLACIER DEEP_ARCHIVE GLACIER_IR".split(" ")
)

/** The metadata for a new object from its request. Throws S3Errors. */
export const metaOf = ({ header, headerNames }: S3Request): PlainMeta =>
  metaFrom(new Map(headerNames.map((name) => [name, header(name) ?? ""])))

/** The metadata from header fields: names in lower case, values in Latin-1. Throws S3Errors. */
export const metaFrom = (fields: ReadonlyMap<string, string>): PlainMeta => {
  const acl = fields.get("x-amz-acl") ?? "private"
  if (!["private", "bucket-owner-full-control"].includes(acl)) {
    throw s3Error("AccessControlListNotSupported", "The bucket does not allow ACLs")
  }
  if (!storageClasses.has(fields.get("x-amz-storage-class") ?? "STANDARD")) throw s3Error("InvalidStorageClass")
  const headers: Record<string, string> = {}
  for (const name of storedHeaders) {
    const value = name === "content-encoding" ? withoutChunked(fields.get(name)) : fields.get(name)
    if (value !== undefined) headers[name] = decodeValue(name, value)
  }
  const user: Record<string, string> = {}
  let size = 0
  for (const [name, value] of fields) {
    if (!name.startsWith("x-amz-meta-")) continue
    const short = name.slice("x-amz-meta-".length)
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(short)) {
      throw s3Error("InvalidArgument", "Metadata names must be valid header names", { ArgumentName: name })
    }
    user[short] = decodeValue(name, value)
    size += short.length + Buffer.byteLength(user[short])
  }
  if (size > maxMetadataBytes) {
    throw s3Error("MetadataTooLarge", undefined, { Size: String(size), MaxSizeAllowed: String(maxMetadataBytes) })
  }
  return {
    contentType: decodeValue("content-type", fields.get("content-type") ?? "") || "binary/octet-stream",
    headers,
    user,
    tags: parseTagHeader(fields.get("x-amz-tagging"))
  }
}

/** Content-Encoding without `aws-chunked`, which only describes the transfer. */
const withoutChunked = (value: string | undefined) => {
  const codings = value?.split(",") ?? []
  const rest = codings.filter((each) => each.trim() !== "aws-chunked")
  const text = rest.join(",").trim()
  return text === "" ? undefined : text
}

/** Decodes as UTF-8 if the bytes are valid UTF-8, else as Latin-1. */
const decodeValue = (name: string, value: string) => {
  checkValue(name, value)
  const text = fromLatin1(value)
  return text.includes("\uFFFD") ? value : text
}

// eslint-disable-next-line no-control-regex -- the pattern matches control characters
const control = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** Rejects control characters, which can occur in queries and forms. Throws InvalidArgument. */
export const checkValue = (name: string, value: string) => {
  if (control.test(value)) {
    throw s3Error("InvalidArgument", "Header values may not contain control characters", { ArgumentName: name })
  }
}

/** The headers of an object in responses to GET and HEAD, except Content-Length. */
export const objectHeadersOf = (info: ObjectInfo, withChecksum: boolean): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {
    ETag: `"${info.etag}"`,
    "Last-Modified": info.lastModified.toUTCString(),
    "Content-Type": byteString(info.contentType),
    "Accept-Ranges": "bytes"
  }
  for (const [name, value] of Object.entries(info.headers)) headers[name] = byteString(value)
  for (const [name, value] of Object.entries(info.user)) headers[`x-amz-meta-${name}`] = userValue(value)
  return withChecksum ? { ...headers, ...checksumHeaders(info.checksum) } : headers
}

export const checksumHeaders = (checksum: ObjectMeta["checksum"]): Readonly<Record<string, string>> =>
  checksum === undefined
    ? {}
    : { [checksumHeader(checksum.algorithm)]: checksum.value, "x-amz-checksum-type": checksum.type }

/** ASCII values are sent unchanged, others as RFC 2047 encoded words, as in S3. */
const userValue = (value: string) => (/^[\x20-\x7e\t]*$/.test(value) ? value : encodeWords(value))

/** Throws KeyTooLongError. */
export const checkKey = (key: string) => {
  const size = Buffer.byteLength(key)
  if (size > maxKeyBytes) {
    throw s3Error("KeyTooLongError", undefined, { Size: String(size), MaxSizeAllowed: String(maxKeyBytes) })
  }
}
