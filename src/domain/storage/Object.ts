import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"

export const maxKeyBytes = 1024

/** UTF-8 bytes of a text. */
export const byteLength = (text: string) => Buffer.byteLength(text, "utf8")

const keyFault = (key: string): string | undefined => {
  if (key === "") return "Expected a key of at least one character"
  if (byteLength(key) > maxKeyBytes) return `Expected a key of at most ${maxKeyBytes} bytes`
  return undefined
}

/** 1–1024 bytes of UTF-8; any character but NUL, slashes anywhere. */
export const ObjectKey = Schema.String.check(
  isStorable,
  Schema.makeFilter((key: string) => keyFault(key) ?? true)
)

/**
 * A key that URLs are made of. Clients resolve `.` and `..` before sending a URL, so the request would reach another
 * object or none. S3 clients may store objects with such keys.
 */
export const UrlKey = ObjectKey.check(
  Schema.makeFilter(
    (key: string) =>
      !key.split("/").some((part) => part === "." || part === "..") || 'Expected no "." or ".." as a path segment'
  )
)

export const KeyPrefix = Schema.String.check(
  isStorable,
  Schema.makeFilter(
    (prefix: string) => byteLength(prefix) <= maxKeyBytes || `Expected a prefix of at most ${maxKeyBytes} bytes`
  )
)

/** The maximum number of keys in one listing and in one bulk delete. */
export const maxKeys = 1000

const printable = /^[\x20-\x7e]*$/

/** `type/subtype` with optional parameters; printable ASCII, because it becomes a header. */
export const ContentType = Schema.String.check(
  Schema.makeFilter(
    (text: string) =>
      (text.length <= 255 && printable.test(text) && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(;.*)?$/.test(text)) ||
      "Expected a media type such as text/plain or image/png"
  )
)

export const ContentDisposition = Schema.NonEmptyString.check(
  Schema.makeFilter(
    (text: string) =>
      (text.length <= 1024 && printable.test(text) && text === text.trim()) ||
      "Expected printable ASCII; use filename*=UTF-8''… for other characters (RFC 6266)"
  )
)

/** The lifetime of a presigned URL in seconds. */
export const ExpiresIn = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 604_800 }))
export const defaultExpiresIn = 900

/** The exact size in bytes of an upload by a presigned URL; S3 takes at most 5 GiB in one request. */
export const UploadSize = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 * 1024 ** 3 }))

/** An object in a listing. `size` in bytes, `etag` with quotes as in HTTP. */
const ObjectEntry = Schema.Struct({
  key: Schema.String,
  size: Schema.Int,
  last_modified: Schema.String,
  etag: Schema.String
})

/** One page of a listing. `common_prefixes` if a delimiter was given: the distinct key prefixes that end with it. */
export const ObjectPage = Schema.Struct({
  objects: Schema.Array(ObjectEntry),
  common_prefixes: Schema.optionalKey(Schema.Array(Schema.String)),
  is_truncated: Schema.Boolean,
  next_continuation_token: Schema.NullOr(Schema.String)
})
export type ObjectPage = typeof ObjectPage.Type

/** A multipart upload that is neither completed nor aborted. */
const OpenUpload = Schema.Struct({ key: Schema.String, uploadId: Schema.String, initiated: Schema.String })

/** One page of the open uploads of a bucket, sorted by key. */
export const UploadPage = Schema.Struct({
  uploads: Schema.Array(OpenUpload),
  is_truncated: Schema.Boolean,
  next_continuation_token: Schema.NullOr(Schema.String)
})
export type UploadPage = typeof UploadPage.Type

/** The result of a bulk delete. As in S3, a key without an object counts as deleted. */
export const BulkDeleted = Schema.Struct({
  deleted: Schema.Array(Schema.String),
  errors: Schema.Array(Schema.Struct({ key: Schema.String, code: Schema.String, message: Schema.String }))
})
export type BulkDeleted = typeof BulkDeleted.Type

/** The place in a list of uploads after an upload. */
interface UploadPlace {
  readonly key: string
  readonly uploadId: string
}

/** S3 continues a list of uploads after a key and an upload id, our API after an opaque text. */
export const UploadToken = Schema.String.check(
  Schema.makeFilter(
    (token: string) => uploadPlace(token) !== undefined || "Expected the next_continuation_token of the page before"
  )
)

export const uploadToken = ({ key, uploadId }: UploadPlace) =>
  Buffer.from(JSON.stringify([key, uploadId])).toString("base64url")

/** Undefined if the text is not a token. */
export const uploadPlace = (token: string): UploadPlace | undefined => {
  try {
    const [key, uploadId, ...others]: ReadonlyArray<unknown> = JSON.parse(Buffer.from(token, "base64url").toString())
    if (typeof key !== "string" || typeof uploadId !== "string" || others.length > 0) return undefined
    return uploadToken({ key, uploadId }) === token && isPlain(key) ? { key, uploadId } : undefined
  } catch {
    return undefined
  }
}

const isPlain = (key: string) => key.isWellFormed() && !key.includes("\0")

/** The maximum number of parts of an upload; part numbers start at 1. */
export const maxParts = 10_000

export const PartNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxParts }))

export const UploadId = Schema.String.check(
  Schema.makeFilter(
    (text: string) => /^[\x21-\x7e]{1,1024}$/.test(text) || "Expected the uploadId returned by multipart/init"
  )
)

/** The ETag in the response to the part's PUT; the quotes are optional. */
const PartETag = Schema.String.check(
  Schema.makeFilter(
    (text: string) => /^(?:"[\x21\x23-\x7e]{1,128}"|[\x21\x23-\x7e]{1,128})$/.test(text) || "Expected an ETag"
  )
)

const outOfOrder = (parts: ReadonlyArray<{ readonly partNumber: number }>) =>
  parts.findIndex(({ partNumber }, index) => index > 0 && partNumber <= (parts[index - 1]?.partNumber ?? 0))

/** All parts of an upload in ascending order, without duplicates. */
export const CompletedParts = Schema.Array(Schema.Struct({ partNumber: PartNumber, etag: PartETag })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(maxParts),
  Schema.makeFilter((parts: ReadonlyArray<{ readonly partNumber: number }>) => {
    const at = outOfOrder(parts)
    return at < 0 || { path: [at, "partNumber"], issue: "Expected part numbers in ascending order without duplicates" }
  })
)
export type CompletedParts = typeof CompletedParts.Type

/** A part of an upload. `size` in bytes. */
export const UploadedPart = Schema.Struct({
  partNumber: Schema.Int,
  etag: Schema.String,
  size: Schema.Int,
  last_modified: Schema.String
})
export type UploadedPart = typeof UploadedPart.Type

/** The limits are S3's. */
const mostTags = 10
const allowed = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u
const words = "letters, digits, spaces and _ . : / = + - @"

const faultOf = (tags: Readonly<Record<string, string>>): string | undefined => {
  const all = Object.entries(tags)
  if (all.length > mostTags) return `Expected at most ${mostTags} tags`
  for (const [name, value] of all) {
    if (name.length < 1 || name.length > 128) return "Expected names of 1 to 128 characters"
    if (value.length > 256) return "Expected values of at most 256 characters"
    if (!allowed.test(name) || !allowed.test(value)) return `Expected only ${words}`
    if (/^aws:/i.test(name)) return "Expected a name that does not start with aws:, which S3 reserves"
  }
  return undefined
}

/** The tags of an object, by name. */
export const ObjectTags = Schema.Record(Schema.String, Schema.String).check(
  Schema.makeFilter((tags: Readonly<Record<string, string>>) => faultOf(tags) ?? true)
)
export type ObjectTags = typeof ObjectTags.Type
