import { type FlagScope, type ScopedOperator, ofValues } from "./Scope.ts"
import { areEqual, isList, isLess, isTrue, kindOf, listOf } from "./Values.ts"

const equal = (operator: string, values: unknown, scope: FlagScope): boolean => {
  const given = listOf(values, operator)
  return given.length >= 2 && areEqual(given[0], given[1], scope)
}

/** `==` of values of the same kind. A list or an object does not equal itself. */
const identical = (values: unknown, scope: FlagScope): boolean => {
  if (!isList(values) || values.length < 2) return false
  const [a, b] = values
  return typeof a === typeof b && kindOf(a) === kindOf(b) && areEqual(a, b, scope)
}

type Comparison = (a: unknown, b: unknown, scope: FlagScope) => boolean

/** Compares two values, or three, of which the second must be between the others. */
const ordered = (operator: string, compare: Comparison): ScopedOperator =>
  ofValues((values, scope) => {
    const given = listOf(values, operator)
    if (given.length < 2) return false
    if (given.length !== 3) return compare(given[0], given[1], scope)
    return compare(given[0], given[1], scope) && compare(given[1], given[2], scope)
  })

const isLessOrEqual: Comparison = (a, b, scope) => isLess(a, b, scope) || areEqual(a, b, scope)

/** Negates a value, or the first item of a list. */
const negated = (values: unknown, scope: FlagScope): boolean =>
  !isTrue(isList(values) && values.length > 0 ? values[0] : values, scope)

export const comparisons: Readonly<Record<string, ScopedOperator>> = {
  "==": ofValues((values, scope) => equal("==", values, scope)),
  "!=": ofValues((values, scope) => !equal("!=", values, scope)),
  "===": ofValues(identical),
  "!==": ofValues((values, scope) => !identical(values, scope)),
  "<": ordered("<", isLess),
  "<=": ordered("<=", isLessOrEqual),
  ">": ordered(">", (a, b, scope) => isLess(b, a, scope)),
  ">=": ordered(">=", (a, b, scope) => isLessOrEqual(b, a, scope)),
  "!": ofValues(negated),
  "!!": ofValues((values, scope) => !negated(values, scope))
}
