import { Schema } from "effect"

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

const warningCode = "IMMUTABLE_UNPROVEN" as const

/** A warning of the description of a schema. */
export const promisedWarning = (fn: PromisedFunction) => ({
  code: warningCode,
  schema: fn.schema,
  name: fn.name,
  message: promisedMessage(fn),
  hint: promisedFix(fn)
})
