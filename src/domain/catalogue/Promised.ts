import { Schema } from "effect"
import { type Finding } from "../insights/Insight.ts"

/**
 * A function of the user's that is declared IMMUTABLE, and whose body is not proven to be. PostgreSQL evaluates it when it
 * makes a plan and keeps the result, so what it reads of one caller could reach the next.
 */
export const PromisedFunction = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  /** `schema.name(types)`, quoted. */
  signature: Schema.String
})
export type PromisedFunction = typeof PromisedFunction.Type

export const promisedMessage = ({ signature }: PromisedFunction) =>
  `The function ${signature} is declared IMMUTABLE, but its body is not proven to answer every caller alike. No plan that may contain its result is kept, so requests with user code take longer`

export const promisedFix = ({ signature }: PromisedFunction) => `alter function ${signature} stable;`

export const promisedFinding = (fn: PromisedFunction): Finding => ({
  kind: "immutable_function_unproven",
  severity: "warning",
  object: { type: "function", schema: fn.schema, name: fn.name, table: null },
  explanation: `${promisedMessage(fn)}.`,
  fix: promisedFix(fn),
  details: { signature: fn.signature }
})

const warningCode = "IMMUTABLE_UNPROVEN" as const

/** A warning of the description of a schema. */
export const promisedWarning = (fn: PromisedFunction) => ({
  code: warningCode,
  schema: fn.schema,
  name: fn.name,
  message: promisedMessage(fn),
  hint: promisedFix(fn)
})
