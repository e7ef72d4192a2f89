import { Schema } from "effect"
import { Label } from "../access/ApiKey.ts"
import { Description, keyForm, keyPattern } from "./Flag.ts"
import { JsonObject } from "../text/JsonObject.ts"

/** The key of a new segment. Look-ups take any text: what can't be a key is not found. */
const SegmentKey = Schema.String.check(
  Schema.makeFilter((key: string) => keyPattern.test(key) || `Expected ${keyForm}`)
)

/**
 * A new segment (spec: Segment). Its key may have either spelling, or both when they say the same. `rules` is checked
 * by domain/FlagProblems.ts, together with the segments that there are; `{}` matches nobody.
 */
export const NewFlagSegment = Schema.Struct({
  key: Schema.optionalKey(SegmentKey),
  segmentKey: Schema.optionalKey(SegmentKey),
  /** Empty, unless given. */
  name: Schema.optionalKey(Label),
  description: Schema.optionalKey(Description),
  rules: JsonObject
}).check(
  Schema.makeFilter((given: { readonly key?: string; readonly segmentKey?: string }) => {
    if (given.key === undefined && given.segmentKey === undefined) return { path: ["key"], issue: "Missing key" }
    if (given.key === undefined || given.segmentKey === undefined || given.key === given.segmentKey) return true
    return { path: ["segmentKey"], issue: "Expected the same as `key`" }
  })
)
export type NewFlagSegment = typeof NewFlagSegment.Type

export const segmentKeyOf = (given: NewFlagSegment): string => given.key ?? given.segmentKey ?? ""

/** What a PUT carries. The keys may be sent back as they are. */
export const FlagSegmentChange = Schema.Struct({
  key: Schema.optionalKey(Schema.String),
  segmentKey: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Label),
  description: Schema.optionalKey(Description),
  rules: Schema.optionalKey(JsonObject)
})
export type FlagSegmentChange = typeof FlagSegmentChange.Type

/** A segment as it is shown. Timestamps are ISO 8601 in UTC with milliseconds. */
export const FlagSegment = Schema.Struct({
  key: Schema.String,
  segmentKey: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  rules: JsonObject,
  /** Keys of those whose rules refer to it themselves. */
  used_by: Schema.Struct({ flags: Schema.Array(Schema.String), segments: Schema.Array(Schema.String) }),
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String
})
export type FlagSegment = typeof FlagSegment.Type
