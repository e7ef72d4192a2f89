import { Schema } from "effect"

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
