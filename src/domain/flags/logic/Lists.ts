import { type FlagScope, type ScopedOperator, RuleError, ofValues } from "./Scope.ts"
import { isList, isNumber, kindOf, listOf, toNumber } from "./Values.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** Whether a number, or a string with one, is within the range, including its ends. */
const isInRange = (value: unknown, range: ReadonlyArray<unknown>, scope: FlagScope): boolean => {
  if (range.length < 2) throw new RuleError("in: a list within the list needs two numbers")
  const number = toNumber(value, scope)
  return number >= toNumber(range[0], scope) && toNumber(range[1], scope) >= number
}

const isItem = (value: unknown, item: unknown, scope: FlagScope): boolean => {
  if (isList(item)) return isInRange(value, item, scope)
  if (isNumber(value)) return toNumber(item, scope) === value
  if (isJsonObject(value) && isJsonObject(item)) throw new RuleError("in: objects can't be compared")
  return (value ?? null) === (item ?? null)
}

/** Whether a string contains another, or a list contains a value. */
const contains = (values: unknown, scope: FlagScope): boolean => {
  const given = listOf(values, "in")
  if (given.length === 0) throw new RuleError("in needs a value and a list or a string to search")
  const [value, where] = given
  if (typeof where === "string") {
    if (typeof value !== "string") throw new RuleError("in: only a string can be searched for in a string")
    // The cost of a search may grow with the product of the lengths.
    scope.spend((where.length >> 2) + Math.floor((where.length * value.length) / 256))
    return where.includes(value)
  }
  if (!isList(where)) return false
  scope.spend(where.length)
  return where.some((item) => isItem(value, item, scope))
}

/** One list of all values, in which lists are replaced by their items. */
const merged = (values: unknown, scope: FlagScope): ReadonlyArray<unknown> => {
  if (!isList(values)) {
    if (values === null || isJsonObject(values))
      throw new RuleError(`merge needs lists or values, not ${kindOf(values)}`)
    return [values]
  }
  const all: Array<unknown> = []
  for (const value of values) {
    scope.spend(isList(value) ? value.length : 1)
    if (isList(value)) for (const item of value) all.push(item)
    else all.push(value)
  }
  return all
}

export const lists: Readonly<Record<string, ScopedOperator>> = { in: ofValues(contains), merge: ofValues(merged) }
