import { comparedNumber, parsedNumber, plainNumber } from "./NumberText.ts"
import { type FlagScope, RuleError } from "./Scope.ts"
import { isJsonObject, type JsonObject } from "../../text/JsonObject.ts"

// Values of a rule are JSON, and bigint for the integer 0 of `-` and `/` without arguments, which Go distinguishes from 0.0.

export const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

export const isNumber = (value: unknown): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint"

/** The value, which must be a list. Throws RuleError. */
export const listOf = (value: unknown, operator: string): ReadonlyArray<unknown> => {
  if (isList(value)) return value
  throw new RuleError(`${operator} needs a list, not ${kindOf(value)}`)
}

export const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return "null"
  if (isList(value)) return "a list"
  if (typeof value === "object") return "an object"
  return typeof value === "boolean" ? "a boolean" : isNumber(value) ? "a number" : "a string"
}

/** False for null, false, 0, and empty strings, lists and objects. */
export const isTrue = (value: unknown, scope: FlagScope): boolean => {
  if (typeof value === "boolean") return value
  if (typeof value === "string") return value !== ""
  if (typeof value === "number") return value !== 0
  if (isList(value)) return value.length > 0
  if (isJsonObject(value)) return sizeOf(value, scope) > 0
  return typeof value === "bigint" && value !== 0n
}

/** The number of properties of an object. */
const sizeOf = (value: JsonObject, scope: FlagScope): number => {
  const { length } = Object.keys(value)
  scope.spend(16 * length)
  return length
}

/** The number of a value in arithmetic: 0 for a string that is not a number. Throws RuleError for other types. */
export const toNumber = (value: unknown, scope: FlagScope): number => {
  if (typeof value === "number") return value
  if (typeof value === "string") {
    scope.spend(value.length >> 1)
    return parsedNumber(value) ?? 0
  }
  if (typeof value === "bigint") return Number(value)
  throw new RuleError(`expected a number, not ${kindOf(value)}`)
}

/** The text of a value: empty for null. Throws RuleError for booleans, lists and objects. */
export const toText = (value: unknown): string => {
  if (typeof value === "string") return value
  if (typeof value === "number") return plainNumber(value)
  if (typeof value === "bigint") return String(value)
  if (value === null || value === undefined) return ""
  throw new RuleError(`expected a string, not ${kindOf(value)}`)
}

const toComparedNumber = (value: unknown, scope: FlagScope): number => {
  if (typeof value === "number") return value
  if (typeof value === "string") {
    scope.spend(value.length >> 1)
    return comparedNumber(value)
  }
  if (typeof value === "boolean") return value ? 1 : 0
  if (typeof value === "bigint") return Number(value)
  return value === null || value === undefined ? 0 : Number.NaN
}

/** `==`: compares two strings as text, null only with null, and everything else as numbers. */
export const areEqual = (a: unknown, b: unknown, scope: FlagScope): boolean => {
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) scope.spend(a.length >> 4)
    return a === b
  }
  if (a === null || b === null || a === undefined || b === undefined) return (a ?? null) === (b ?? null)
  return toComparedNumber(a, scope) === toComparedNumber(b, scope)
}

const high = /[\ud800-\uffff]/

/** Ranks UTF-16 units by code point: surrogates belong to the highest ones. */
const codePointRank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit)

/** Whether one string comes before another by code points, unlike `<`, which compares UTF-16 units. */
export const isTextBefore = (a: string, b: string): boolean => {
  if (!high.test(a) || !high.test(b)) return a < b
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointRank(x) < codePointRank(y)
  }
  return a.length < b.length
}

/** `<`: compares two strings as text, and everything else as numbers. */
export const isLess = (a: unknown, b: unknown, scope: FlagScope): boolean => {
  if (typeof a === "number" && typeof b === "number") return a < b
  if (typeof a === "string" && typeof b === "string") {
    scope.spend(Math.min(a.length, b.length) >> 2)
    return isTextBefore(a, b)
  }
  return toComparedNumber(a, scope) < toComparedNumber(b, scope)
}
