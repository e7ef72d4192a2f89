import { Schema } from "effect"

export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a parsed JSON value is an object, not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * A JSON object with all its members, where `Schema.Record` would silently drop `__proto__` and unknown names. Callers
 * must validate its members.
 */
export const JsonObject = Schema.declare(isJsonObject, {
  expected: "object",
  toCodecJson: () => undefined
}).check(Schema.makeFilter(() => true, { toJsonSchema: () => ({ type: "object" }) }))
