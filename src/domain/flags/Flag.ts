import { Schema } from "effect"
import { FlagEnvironment } from "./Environment.ts"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"
import { isStorable } from "../text/StorableText.ts"

export const keyPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
export const flagKeyForm = "1–128 letters, digits, `.`, `_`, `:` and `-`, the first a letter or a digit"

/** Path segments of other routes under `/api/flags`. */
const reserved: ReadonlySet<string> = new Set(["segments", "evaluate", "status"])

/** The key of a new flag. Lookups accept any text, and answer 404 for an invalid key. */
const FlagKey = Schema.String.check(
  Schema.makeFilter((key: string) => {
    if (!keyPattern.test(key)) return `Expected ${flagKeyForm}`
    return !reserved.has(key) || "Expected another key: `segments`, `evaluate` and `status` are reserved"
  })
)

export const FlagType = Schema.Literals(["boolean", "string", "number", "object"])
export type FlagType = typeof FlagType.Type

const FlagState = Schema.Literals(["ENABLED", "DISABLED"])

/** The description has at most 2,000 characters; null for none. */
export const Description = Schema.NullOr(Schema.String.check(Schema.isMaxCodePoints(2000), isStorable))

/**
 * A new flag (spec: Feature flag), with the same state, rule and default variant in every environment. Variants and rule
 * are checked by domain/flags/Problems.ts, together with the segments.
 */
export const NewFlag = Schema.Struct({
  key: FlagKey,
  type: FlagType,
  description: Schema.optionalKey(Description),
  variants: JsonObjectSchema,
  /** Default: ENABLED. */
  state: Schema.optionalKey(FlagState),
  /** JsonLogic; `{}` for no rule. */
  targeting: Schema.optionalKey(JsonObjectSchema),
  defaultVariant: Schema.String,
  /** The environment at the top level of the answer. */
  environment: Schema.optionalKey(FlagEnvironment)
})
export type NewFlag = typeof NewFlag.Type

/**
 * The body of a PUT: description and variants for all environments; state, rule and default variant for the selected one.
 * Clients may send back a whole record: `key`, `type` and `environments` must equal the stored ones, and other fields
 * are ignored.
 */
export const FlagChange = Schema.Struct({
  key: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(FlagType),
  description: Schema.optionalKey(Description),
  variants: Schema.optionalKey(JsonObjectSchema),
  state: Schema.optionalKey(FlagState),
  targeting: Schema.optionalKey(JsonObjectSchema),
  defaultVariant: Schema.optionalKey(Schema.String),
  environment: Schema.optionalKey(FlagEnvironment),
  environments: Schema.optionalKey(JsonObjectSchema)
})
export type FlagChange = typeof FlagChange.Type

/** The part of a flag that each environment has for itself. */
export const FlagConfiguration = Schema.Struct({
  state: FlagState,
  targeting: JsonObjectSchema,
  defaultVariant: Schema.String
})
export type FlagConfiguration = typeof FlagConfiguration.Type

/** ISO 8601 in UTC with milliseconds; null for never. */
const Moment = Schema.NullOr(Schema.String)

const Configured = Schema.Struct({ ...FlagConfiguration.fields, last_evaluated_at: Moment })

/** A flag in answers. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Flag = Schema.Struct({
  key: Schema.String,
  type: FlagType,
  description: Schema.NullOr(Schema.String),
  variants: JsonObjectSchema,
  ...FlagConfiguration.fields,
  /** The environment of state, targeting, defaultVariant and last_evaluated_at at this level. */
  environment: FlagEnvironment,
  environments: Schema.Struct({ dev: Configured, staging: Configured, production: Configured }),
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String,
  last_evaluated_at: Moment
})
export type Flag = typeof Flag.Type

/** Copies state, targeting and defaultVariant from one environment to another. */
export const FlagPromotion = Schema.Struct({ from: FlagEnvironment, to: FlagEnvironment }).check(
  Schema.makeFilter(
    ({ from, to }) => from !== to || { path: ["to"], issue: "Expected an environment other than `from`" }
  )
)
export type FlagPromotion = typeof FlagPromotion.Type

/** A change of a flag or a segment, its author and its time. */
export const FlagHistoryEntry = Schema.Struct({
  id: Schema.Int,
  key: Schema.String,
  action: Schema.Literals(["created", "updated", "toggled", "promoted", "deleted"]),
  /** Null for a change of all environments, and for segments. */
  environment: Schema.NullOr(FlagEnvironment),
  actor: Schema.Union([
    Schema.Struct({ type: Schema.Literal("key"), id: Schema.Int, label: Schema.String }),
    Schema.Struct({ type: Schema.Literal("identity"), id: Schema.String, label: Schema.String })
  ]),
  /** Null for the creation. */
  before: Schema.NullOr(JsonObjectSchema),
  /** Null for the deletion. */
  after: Schema.NullOr(JsonObjectSchema),
  revision: Schema.Int,
  created_at: Schema.String
})
export type FlagHistoryEntry = typeof FlagHistoryEntry.Type
