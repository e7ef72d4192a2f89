import { Schema } from "effect"
import { isJsonObject, type JsonObject as Plain } from "./JsonObject.ts"

/**
 * A JSON object with all its members, where `Schema.Record` would silently drop `__proto__` and unknown names. Callers
 * must validate its members.
 */
export const JsonObjectSchema = Schema.declare(isJsonObject, {
  expected: "object",
  toCodecJson: () => undefined
}).check(Schema.makeFilter(() => true, { toJsonSchema: () => ({ type: "object" }) }))
export type JsonObjectSchema = Plain
