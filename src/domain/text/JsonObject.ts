import { Schema } from "effect"

export type JsonObject = Readonly<Record<string, unknown>>

/** Of parsed JSON: whether it is an object, and no array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * A JSON object as it was parsed: nothing is taken out of it, where `Schema.Record` would leave out `__proto__` and
 * names that it doesn't know without a word. What stands in it is for its user to check.
 */
export const JsonObject = Schema.declare(isJsonObject, {
  expected: "object",
  toCodecJson: () => undefined
}).check(Schema.makeFilter(() => true, { toJsonSchema: () => ({ type: "object" }) }))
