import { Schema } from "effect"
import { Label } from "../access/ApiKey.ts"
import { Description, flagKeyForm, keyPattern } from "./Flag.ts"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"

/** The key of a new segment. Lookups accept any text, and answer 404 for an invalid key. */
const SegmentKey = Schema.String.check(
  Schema.makeFilter((key: string) => keyPattern.test(key) || `Expected ${flagKeyForm}`)
)

/**
 * A new segment (spec: Segment). Its key may be in either field, or the same in both. `rules` is checked by
 * domain/flags/Problems.ts, together with the other segments; `{}` matches no user.
 */
export const NewFlagSegment = Schema.Struct({
  key: Schema.optionalKey(SegmentKey),
  segmentKey: Schema.optionalKey(SegmentKey),
  /** Default: empty. */
  name: Schema.optionalKey(Label),
  description: Schema.optionalKey(Description),
  rules: JsonObjectSchema
}).check(
  Schema.makeFilter((given: { readonly key?: string; readonly segmentKey?: string }) => {
    if (given.key === undefined && given.segmentKey === undefined) return { path: ["key"], issue: "Missing key" }
    if (given.key === undefined || given.segmentKey === undefined || given.key === given.segmentKey) return true
    return { path: ["segmentKey"], issue: "Expected the same value as `key`" }
  })
)
export type NewFlagSegment = typeof NewFlagSegment.Type

export const segmentKeyOf = (given: NewFlagSegment): string => given.key ?? given.segmentKey ?? ""

/** The body of a PUT. The keys may be sent back unchanged. */
export const FlagSegmentChange = Schema.Struct({
  key: Schema.optionalKey(Schema.String),
  segmentKey: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Label),
  description: Schema.optionalKey(Description),
  rules: Schema.optionalKey(JsonObjectSchema)
})
export type FlagSegmentChange = typeof FlagSegmentChange.Type

/** A segment in answers. Timestamps are ISO 8601 in UTC with milliseconds. */
export const FlagSegment = Schema.Struct({
  key: Schema.String,
  segmentKey: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  rules: JsonObjectSchema,
  /** Keys of the flags and segments whose rules refer to it directly. */
  used_by: Schema.Struct({ flags: Schema.Array(Schema.String), segments: Schema.Array(Schema.String) }),
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String
})
export type FlagSegment = typeof FlagSegment.Type
