import { type FlagScope, type ScopedOperator, RuleError, ofValues } from "./Scope.ts"
import { isList, listOf, toNumber } from "./Values.ts"

const sum = (values: unknown, scope: FlagScope): number => {
  if (!isList(values)) return toNumber(values, scope)
  // A single number is not added to 0, so that -0 stays -0.
  if (values.length === 1) return toNumber(values[0], scope)
  let total = 0
  for (const value of values) total += toNumber(value, scope)
  return total
}

const difference = (values: unknown, scope: FlagScope): number | bigint => {
  const given = listOf(values, "-")
  if (given.length === 0) return 0n
  let rest = toNumber(given[0], scope)
  if (given.length === 1) return -rest
  for (const value of given.slice(1)) rest -= toNumber(value, scope)
  return rest
}

const product = (values: unknown, scope: FlagScope): number => {
  let total = 1
  for (const value of listOf(values, "*")) total *= toNumber(value, scope)
  return total
}

const quotient = (values: unknown, scope: FlagScope): number | bigint => {
  const given = listOf(values, "/")
  if (given.length === 0) return 0n
  let rest = toNumber(given[0], scope)
  for (const value of given.slice(1)) rest /= toNumber(value, scope)
  return rest
}

const remainder = (values: unknown, scope: FlagScope): number => {
  const given = listOf(values, "%")
  if (given.length < 2) throw new RuleError("% needs two numbers")
  return toNumber(given[0], scope) % toNumber(given[1], scope)
}

/** The number that comes before all others; null without numbers. */
const extreme = (operator: string, isBefore: (a: number, b: number) => boolean): ScopedOperator =>
  ofValues((values, scope) => {
    const given = listOf(values, operator)
    if (given.length === 0) return null
    let best = toNumber(given[0], scope)
    for (const value of given) {
      const number = toNumber(value, scope)
      if (isBefore(number, best)) best = number
    }
    return best
  })

export const numbers: Readonly<Record<string, ScopedOperator>> = {
  "+": ofValues(sum),
  "-": ofValues(difference),
  "*": ofValues(product),
  "/": ofValues(quotient),
  "%": ofValues(remainder),
  min: extreme("min", (a, b) => a < b),
  max: extreme("max", (a, b) => a > b)
}
