import { Schema } from "effect"
import { FlagEnvironment } from "./Environment.ts"
import { JsonObject } from "../text/JsonObject.ts"
import { isStorable } from "../text/StorableText.ts"

export const keyPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
export const keyForm = "1–128 letters, digits, `.`, `_`, `:` and `-`, the first a letter or a digit"

/** Paths of their own under `/api/flags`. */
const reserved: ReadonlySet<string> = new Set(["segments", "evaluate", "status"])

/** The key of a new flag. Look-ups take any text: what can't be a key is not found. */
const FlagKey = Schema.String.check(
  Schema.makeFilter((key: string) => {
    if (!keyPattern.test(key)) return `Expected ${keyForm}`
    return !reserved.has(key) || "Expected another key: `segments`, `evaluate` and `status` are reserved"
  })
)

export const FlagType = Schema.Literals(["boolean", "string", "number", "object"])
export type FlagType = typeof FlagType.Type

const FlagState = Schema.Literals(["ENABLED", "DISABLED"])

/** At most 2,000 characters; null: none. */
export const Description = Schema.NullOr(Schema.String.check(Schema.isMaxLength(2000), isStorable))

/**
 * A new flag (spec: Feature flag). State, rule and default variant hold in every environment. Variants and rule are
 * checked by domain/FlagProblems.ts, together with the segments that there are.
 */
export const NewFlag = Schema.Struct({
  key: FlagKey,
  type: FlagType,
  description: Schema.optionalKey(Description),
  variants: JsonObject,
  /** ENABLED, unless given. */
  state: Schema.optionalKey(FlagState),
  /** JsonLogic; `{}`: no rule. */
  targeting: Schema.optionalKey(JsonObject),
  defaultVariant: Schema.String,
  /** The environment that the answer shows. */
  environment: Schema.optionalKey(FlagEnvironment)
})
export type NewFlag = typeof NewFlag.Type

/**
 * What a PUT carries: description and variants for all environments, the next three for the selected one. A whole
 * record may be sent back: `key`, `type` and `environments` must then be what is stored, the rest is not looked at.
 */
export const FlagChange = Schema.Struct({
  key: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(FlagType),
  description: Schema.optionalKey(Description),
  variants: Schema.optionalKey(JsonObject),
  state: Schema.optionalKey(FlagState),
  targeting: Schema.optionalKey(JsonObject),
  defaultVariant: Schema.optionalKey(Schema.String),
  environment: Schema.optionalKey(FlagEnvironment),
  environments: Schema.optionalKey(JsonObject)
})
export type FlagChange = typeof FlagChange.Type

/** What each environment keeps for itself. */
export const FlagConfiguration = Schema.Struct({
  state: FlagState,
  targeting: JsonObject,
  defaultVariant: Schema.String
})
export type FlagConfiguration = typeof FlagConfiguration.Type

/** ISO 8601 in UTC with milliseconds; null: never. */
const Moment = Schema.NullOr(Schema.String)

const Configured = Schema.Struct({ ...FlagConfiguration.fields, last_evaluated_at: Moment })

/** A flag as it is shown. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Flag = Schema.Struct({
  key: Schema.String,
  type: FlagType,
  description: Schema.NullOr(Schema.String),
  variants: JsonObject,
  ...FlagConfiguration.fields,
  /** Whose state, targeting, defaultVariant and last_evaluated_at stand beside it. */
  environment: FlagEnvironment,
  environments: Schema.Struct({ dev: Configured, staging: Configured, production: Configured }),
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String,
  last_evaluated_at: Moment
})
export type Flag = typeof Flag.Type

/** From one environment to another: state, targeting and defaultVariant. */
export const FlagPromotion = Schema.Struct({ from: FlagEnvironment, to: FlagEnvironment }).check(
  Schema.makeFilter(
    ({ from, to }) => from !== to || { path: ["to"], issue: "Expected another environment than that of `from`" }
  )
)
export type FlagPromotion = typeof FlagPromotion.Type

/** Who changed what, and when; of a flag or a segment. */
export const FlagHistoryEntry = Schema.Struct({
  id: Schema.Int,
  key: Schema.String,
  action: Schema.Literals(["created", "updated", "toggled", "promoted", "deleted"]),
  /** Null: all of them, or none, as for a segment. */
  environment: Schema.NullOr(FlagEnvironment),
  actor: Schema.Union([
    Schema.Struct({ type: Schema.Literal("key"), id: Schema.Int, label: Schema.String }),
    Schema.Struct({ type: Schema.Literal("identity"), id: Schema.String, label: Schema.String })
  ]),
  /** Null when it was created. */
  before: Schema.NullOr(JsonObject),
  /** Null when it was deleted. */
  after: Schema.NullOr(JsonObject),
  revision: Schema.Int,
  created_at: Schema.String
})
export type FlagHistoryEntry = typeof FlagHistoryEntry.Type
