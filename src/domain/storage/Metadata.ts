import { Schema } from "effect"
import { byteLength, ContentDisposition, ContentType, ObjectKey } from "./Object.ts"
import { isStorable } from "../text/StorableText.ts"

const Optional = Schema.NullOr(Schema.String)

/**
 * An object without its bytes. `size` in bytes, `etag` with quotes; `metadata` is the user-defined metadata, with names
 * in lower case without the prefix `x-amz-meta-`.
 */
export const ObjectRecord = Schema.Struct({
  key: Schema.String,
  size: Schema.Int,
  etag: Schema.String,
  last_modified: Schema.String,
  content_type: Schema.String,
  content_disposition: Optional,
  cache_control: Optional,
  content_encoding: Optional,
  content_language: Optional,
  expires: Optional,
  metadata: Schema.Record(Schema.String, Schema.String)
})
export type ObjectRecord = typeof ObjectRecord.Type

/** The maximum number of bytes of all names and values together, as in S3. */
export const maxMetadataBytes = 2048

export const metadataBytes = (metadata: ObjectRecord["metadata"]) =>
  Object.entries(metadata).reduce((sum, [name, value]) => sum + byteLength(name) + byteLength(value), 0)

const prefix = "x-amz-meta-"

/** System metadata by the names accepted in `metadata`; with the prefix, these are user-defined names. */
const systemNames: Readonly<Record<string, "contentType" | "contentDisposition">> = {
  "content-type": "contentType",
  contenttype: "contentType",
  "content-disposition": "contentDisposition",
  contentdisposition: "contentDisposition"
}

const bareName = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)

const Value = Schema.NullOr(
  Schema.String.check(
    isStorable,
    Schema.makeFilter((text: string) => !/\p{Cc}/u.test(text) || "Expected text without control characters")
  )
)

const fields = {
  contentType: Schema.optionalKey(ContentType),
  contentDisposition: Schema.optionalKey(Schema.NullOr(ContentDisposition))
}

type Given = Readonly<Record<string, string | null>>

const decodes = {
  contentType: Schema.is(ContentType),
  contentDisposition: Schema.is(Schema.NullOr(ContentDisposition))
}

const issueOf = (given: Given): { readonly path: ReadonlyArray<string>; readonly issue: string } | undefined => {
  const seen = new Set<string>()
  for (const [written, value] of Object.entries(given)) {
    const name = written.toLowerCase()
    const system = systemNames[name]
    const target = system ?? prefix + bareName(name)
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(bareName(name))) return { path: [written], issue: "Expected a header name" }
    if (seen.has(target)) return { path: [written], issue: "Expected no duplicate names" }
    seen.add(target)
    if (system !== undefined && !decodes[system](value)) return { path: [written], issue: `Expected a valid ${name}` }
  }
  return undefined
}

/**
 * A change to an object's metadata: given names are set, those set to null are deleted, all others are kept.
 * `content-type` and `content-disposition` are also accepted in `metadata`.
 */
export const MetadataChange = Schema.Struct({
  key: ObjectKey,
  metadata: Schema.optionalKey(
    Schema.Record(Schema.String, Value).check(Schema.makeFilter((given: Given) => issueOf(given) ?? true))
  ),
  ...fields
}).check(
  Schema.makeFilter((change: { readonly metadata?: Given; readonly contentType?: string }) => {
    const changesSomething = Object.keys(change).length > 1
    return changesSomething || { path: ["metadata"], issue: "Missing key" }
  })
)
export type MetadataChange = typeof MetadataChange.Type

/** The record after the change. `contentType` and `contentDisposition` take precedence over `metadata`. */
export const changedRecord = (record: ObjectRecord, change: MetadataChange): ObjectRecord => {
  const user = new Map(Object.entries(record.metadata))
  let { content_disposition, content_type } = record
  for (const [written, value] of Object.entries(change.metadata ?? {})) {
    const name = written.toLowerCase()
    const system = systemNames[name]
    if (system === "contentDisposition") content_disposition = value
    else if (system === "contentType") content_type = value ?? content_type
    else if (value === null) user.delete(bareName(name))
    else user.set(bareName(name), value)
  }
  content_type = change.contentType ?? content_type
  if (change.contentDisposition !== undefined) content_disposition = change.contentDisposition
  return { ...record, content_type, content_disposition, metadata: Object.fromEntries(user) }
}
