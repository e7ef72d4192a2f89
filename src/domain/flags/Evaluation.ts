import { Schema } from "effect"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"
import { type JsonBounds } from "../text/JsonShape.ts"
import { FlagEnvironment } from "./Environment.ts"
import { contextProblems } from "./Json.ts"

/** Maximum bytes of a request with a context: all flags or one, and up to 1,000 that it names. */
export const contextBytes = 64 * 1024
export const bulkContextBytes = 384 * 1024

/** Bounds on the JSON of such a request. A context has fewer levels than these, which is checked once it is decoded. */
export const contextBounds: JsonBounds = { depth: 80, keys: 2_000, values: 10_000 }

/** A JSON object; `$flagd` in it is overwritten. */
const Context = JsonObjectSchema.check(
  Schema.makeFilter((context: JsonObjectSchema) =>
    contextProblems(context).map(({ path, problem }) => ({ path, issue: problem }))
  )
)

const common = { context: Schema.optionalKey(Context), environment: Schema.optionalKey(FlagEnvironment) }

/** (spec: Flag evaluation) */
export const FlagEvaluationRequest = Schema.Struct({ flagKey: Schema.String, ...common })
export type FlagEvaluationRequest = typeof FlagEvaluationRequest.Type

export const FlagBulkRequest = Schema.Struct({
  flagKeys: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
  ...common
})
export type FlagBulkRequest = typeof FlagBulkRequest.Type

const Failure = Schema.Literals(["FLAG_NOT_FOUND", "PARSE_ERROR", "GENERAL"])

/** Disabled flags have their default variant. `variant` and `value` are null if `reason` is ERROR. */
export const FlagEvaluation = Schema.Struct({
  key: Schema.String,
  variant: Schema.NullOr(Schema.String),
  value: Schema.Unknown,
  reason: Schema.Literals(["STATIC", "TARGETING_MATCH", "DEFAULT", "DISABLED", "ERROR"]),
  /** The environment, and the revision of its flags. */
  metadata: Schema.Struct({ flagSetId: Schema.String, version: Schema.String }),
  errorCode: Schema.optionalKey(Failure),
  errorDetails: Schema.optionalKey(Schema.String)
})
export type FlagEvaluation = typeof FlagEvaluation.Type

/** The results are in the order of `flagKeys`. */
export const FlagBulkEvaluation = Schema.Struct({
  flags: Schema.Array(
    Schema.Union([
      FlagEvaluation,
      Schema.Struct({ key: Schema.String, errorCode: Failure, errorDetails: Schema.String })
    ])
  )
})
export type FlagBulkEvaluation = typeof FlagBulkEvaluation.Type

/** The engine that evaluates flags, and its state. */
export const FlagStatus = Schema.Struct({
  engine: Schema.Literals(["embedded", "flagd"]),
  address: Schema.NullOr(Schema.String),
  connected: Schema.Boolean,
  /** The revision of the newest change. */
  revision: Schema.Int,
  error: Schema.NullOr(Schema.String)
})
export type FlagStatus = typeof FlagStatus.Type

/** The metadata of a flag set in all protocols: its environment and revision. */
export interface FlagSetMetadata {
  readonly flagSetId: string
  readonly version: string
}

/** An evaluation context: a JSON object, of which only own properties count. */
export type FlagContext = Readonly<Record<string, unknown>>

export interface FlagValue {
  readonly key: string
  readonly reason: "STATIC" | "TARGETING_MATCH" | "DEFAULT" | "DISABLED"
  /** Both absent if the flag is disabled: the client uses its own default. */
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

/** A flag of one environment as an engine evaluates it, with its segments inlined. */
export interface FlagDefinition {
  readonly key: string
  readonly state: "ENABLED" | "DISABLED"
  /** Values by name, all of one type, in the order in which they were defined. */
  readonly variants: Readonly<Record<string, unknown>>
  readonly defaultVariant: string
  /** JsonLogic without `$ref`; `{}` if there is no rule. */
  readonly targeting: unknown
}
