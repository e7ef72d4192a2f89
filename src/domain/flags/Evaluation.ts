import { Schema } from "effect"
import { FlagEnvironment } from "./Environment.ts"
import { contextProblems } from "./Json.ts"
import { JsonObject } from "../text/JsonObject.ts"

/** A JSON object; `$flagd` in it is overwritten. */
const Context = JsonObject.check(
  Schema.makeFilter((context: JsonObject) =>
    contextProblems(context).map(({ path, problem }) => ({ path, issue: problem }))
  )
)

const asked = { context: Schema.optionalKey(Context), environment: Schema.optionalKey(FlagEnvironment) }

/** (spec: Flag evaluation) */
export const FlagEvaluationRequest = Schema.Struct({ flagKey: Schema.String, ...asked })
export type FlagEvaluationRequest = typeof FlagEvaluationRequest.Type

export const FlagBulkRequest = Schema.Struct({
  flagKeys: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
  ...asked
})
export type FlagBulkRequest = typeof FlagBulkRequest.Type

const Failure = Schema.Literals(["FLAG_NOT_FOUND", "PARSE_ERROR", "GENERAL"])

/** A disabled flag has its default variant. `variant` and `value` are null when `reason` is ERROR. */
export const FlagEvaluation = Schema.Struct({
  key: Schema.String,
  variant: Schema.NullOr(Schema.String),
  value: Schema.Unknown,
  reason: Schema.Literals(["STATIC", "TARGETING_MATCH", "DEFAULT", "DISABLED", "ERROR"]),
  /** The environment, and the revision of its flags that answered. */
  metadata: Schema.Struct({ flagSetId: Schema.String, version: Schema.String }),
  errorCode: Schema.optionalKey(Failure),
  errorDetails: Schema.optionalKey(Schema.String)
})
export type FlagEvaluation = typeof FlagEvaluation.Type

/** In the order of `flagKeys`. */
export const FlagBulkEvaluation = Schema.Struct({
  flags: Schema.Array(
    Schema.Union([
      FlagEvaluation,
      Schema.Struct({ key: Schema.String, errorCode: Failure, errorDetails: Schema.String })
    ])
  )
})
export type FlagBulkEvaluation = typeof FlagBulkEvaluation.Type

/** What evaluates flags, and whether it does. */
export const FlagStatus = Schema.Struct({
  engine: Schema.Literals(["embedded", "flagd"]),
  address: Schema.NullOr(Schema.String),
  connected: Schema.Boolean,
  /** Of the newest change. */
  revision: Schema.Int,
  error: Schema.NullOr(Schema.String)
})
export type FlagStatus = typeof FlagStatus.Type

/** Set metadata as every protocol carries it: which flag set answered, and at which revision. */
export interface FlagSetMetadata {
  readonly flagSetId: string
  readonly version: string
}

/** What an evaluation context is: JSON, its own properties only. */
export type FlagContext = Readonly<Record<string, unknown>>

export interface FlagValue {
  readonly key: string
  readonly reason: "STATIC" | "TARGETING_MATCH" | "DEFAULT" | "DISABLED"
  /** Both absent when the flag is disabled: the caller's own default counts then. */
  readonly variant?: string
  readonly value?: unknown
  readonly metadata: FlagSetMetadata
}

export interface FlagFailure {
  readonly key: string
  readonly reason: "ERROR"
  readonly errorCode: "FLAG_NOT_FOUND" | "PARSE_ERROR" | "GENERAL"
  readonly errorDetails: string
  readonly metadata: FlagSetMetadata
}

/** The outcome of one evaluation (flagd 0.16). */
export type FlagResult = FlagValue | FlagFailure

/** One flag in one environment, as an engine is given it: segments are already in their places. */
export interface FlagDefinition {
  readonly key: string
  readonly state: "ENABLED" | "DISABLED"
  /** Name and value, all values of one type, in the order they were given. */
  readonly variants: Readonly<Record<string, unknown>>
  readonly defaultVariant: string
  /** JsonLogic without `$ref`; `{}` when there is no rule. */
  readonly targeting: unknown
}
