import { isJsonObject } from "../../text/JsonObject.ts"
import { type Compiler, type FlagScope, type Rule, type ScopedOperator, ofValues, refusal } from "./Scope.ts"
import { areEqual, isLess, isList, isTrue, kindOf, listOf } from "./Values.ts"

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

const needsList = (operator: string): Rule => refusal(`the arguments of ${operator} must be written as a list`)

/** The first value whose truth is `decisive`, or else the last value. */
const firstWhere =
  (operator: string, decisive: boolean): ScopedOperator =>
  (written, depth, compiler) => {
    if (!isList(written)) return needsList(operator)
    const rules = written.map((part) => compiler.part(part, depth + 1).run)
    return (scope) => {
      scope.spend(8)
      let last: unknown = null
      for (const rule of rules) {
        last = rule(scope)
        if (isTrue(last, scope) === decisive) return last
      }
      return last
    }
  }

/** A branch of `if`. If its value is an object, that is evaluated again. */
const branch = (written: unknown, depth: number, compiler: Compiler): Rule => {
  const part = compiler.part(written, depth)
  if (part.literal) return part.run
  return (scope) => {
    const value = part.run(scope)
    return isJsonObject(value) ? compiler.dynamic(value, depth + 1, scope)(scope) : value
  }
}

const conditional: ScopedOperator = (written, depth, compiler) => {
  if (!isList(written)) return needsList("if")
  const pairs: Array<{ readonly condition: Rule; readonly outcome: Rule }> = []
  for (let i = 0; i < written.length - 1; i += 2) {
    pairs.push({
      condition: compiler.part(written[i], depth + 1).run,
      outcome: branch(written[i + 1], depth + 1, compiler)
    })
  }
  const fallback = written.length % 2 === 1 ? branch(written[written.length - 1], depth + 1, compiler) : () => null
  return (scope) => {
    scope.spend(8)
    for (const pair of pairs) if (isTrue(pair.condition(scope), scope)) return pair.outcome(scope)
    return fallback(scope)
  }
}

export const conditions: Readonly<Record<string, ScopedOperator>> = {
  if: conditional,
  and: firstWhere("and", false),
  or: firstWhere("or", true)
}
