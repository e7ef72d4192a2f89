import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"

const maxKeyBytes = 1024

/** UTF-8 bytes of a text. */
export const byteLength = (text: string) => Buffer.byteLength(text, "utf8")

const keyFault = (key: string): string | undefined => {
  if (key === "") return "Expected a key of at least one character"
  if (byteLength(key) > maxKeyBytes) return `Expected a key of at most ${maxKeyBytes} bytes`
  // Clients resolve them before they send a URL: such an object could not be reached, or another one would be.
  if (key.split("/").some((part) => part === "." || part === "..")) return 'Expected no "." or ".." between slashes'
  return undefined
}

/** 1–1024 bytes of UTF-8; every character but NUL, slashes wherever one likes. */
export const ObjectKey = Schema.String.check(
  isStorable,
  Schema.makeFilter((key: string) => keyFault(key) ?? true)
)

export const KeyPrefix = Schema.String.check(
  isStorable,
  Schema.makeFilter(
    (prefix: string) => byteLength(prefix) <= maxKeyBytes || `Expected a prefix of at most ${maxKeyBytes} bytes`
  )
)

/** Most keys in one list and in one bulk delete. */
export const maxKeys = 1000

const printable = /^[\x20-\x7e]*$/

/** `type/subtype`, with parameters or without; printable ASCII, as it becomes a header. */
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
      "Expected printable ASCII; other characters go into filename*=UTF-8''… (RFC 6266)"
  )
)

/** Seconds that a presigned URL is good for. */
export const ExpiresIn = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 604_800 }))
export const defaultExpiresIn = 900

/** An object in a list. `size` in bytes, `etag` with its quotes as in HTTP. */
const ObjectEntry = Schema.Struct({
  key: Schema.String,
  size: Schema.Int,
  last_modified: Schema.String,
  etag: Schema.String
})

/** One page of a list. `common_prefixes` when a delimiter was given: what stands before it, once each. */
export const ObjectPage = Schema.Struct({
  objects: Schema.Array(ObjectEntry),
  common_prefixes: Schema.optionalKey(Schema.Array(Schema.String)),
  is_truncated: Schema.Boolean,
  next_continuation_token: Schema.NullOr(Schema.String)
})
export type ObjectPage = typeof ObjectPage.Type

/** What a bulk delete did. A key that was not there counts as deleted, as in S3. */
export const BulkDeleted = Schema.Struct({
  deleted: Schema.Array(Schema.String),
  errors: Schema.Array(Schema.Struct({ key: Schema.String, code: Schema.String, message: Schema.String }))
})
export type BulkDeleted = typeof BulkDeleted.Type

/** Most parts of one upload; they are numbered from 1. */
export const maxParts = 10_000

export const PartNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxParts }))

export const UploadId = Schema.String.check(
  Schema.makeFilter((text: string) => /^[\x21-\x7e]{1,1024}$/.test(text) || "Expected the id that init gave")
)

/** As the answer to the part's PUT had it; the quotes may be missing. */
const PartETag = Schema.String.check(
  Schema.makeFilter(
    (text: string) => /^(?:"[\x21\x23-\x7e]{1,128}"|[\x21\x23-\x7e]{1,128})$/.test(text) || "Expected an ETag"
  )
)

const outOfOrder = (parts: ReadonlyArray<{ readonly partNumber: number }>) =>
  parts.findIndex(({ partNumber }, index) => index > 0 && partNumber <= (parts[index - 1]?.partNumber ?? 0))

/** All parts of an upload, ascending by number, none twice. */
export const CompletedParts = Schema.Array(Schema.Struct({ partNumber: PartNumber, etag: PartETag })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(maxParts),
  Schema.makeFilter((parts: ReadonlyArray<{ readonly partNumber: number }>) => {
    const at = outOfOrder(parts)
    return at < 0 || { path: [at, "partNumber"], issue: "Expected part numbers that ascend, each one once" }
  })
)
export type CompletedParts = typeof CompletedParts.Type

/** A part that is there. `size` in bytes. */
export const UploadedPart = Schema.Struct({
  partNumber: Schema.Int,
  etag: Schema.String,
  size: Schema.Int,
  last_modified: Schema.String
})
export type UploadedPart = typeof UploadedPart.Type
