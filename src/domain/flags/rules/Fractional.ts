import { isLiteral, argumentKindOf, operationIn } from "./Arguments.ts"
import { walkJson } from "../Json.ts"
import { type FlagProblem } from "../Problem.ts"

const total = 100

/** Whether an expression reads anything that differs between users, which is all but `$flagd.…`. */
const variesByUser = (expression: unknown): boolean => {
  let found = false
  walkJson(expression, (value) => {
    const [operator, operand] = operationIn(value) ?? []
    if (operator === "$ref" || operator === "missing" || operator === "missing_some") found = true
    if (operator !== "var") return found ? "stop" : "into"
    const path: unknown = Array.isArray(operand) ? operand[0] : operand
    found = typeof path !== "string" || !/^\.*\$flagd(\.|$)/.test(path)
    return found ? "stop" : "into"
  })
  return found
}

const keyFault = (key: unknown): string | undefined => {
  if (typeof key === "string") {
    // flagd hashes a literal as if it were the key of the user.
    return 'Expected [variant, weight] or a bucketing key such as {"var": "email"}: a constant puts all users in one bucket'
  }
  if (isLiteral(key)) return 'Expected [variant, weight] or a bucketing key such as {"var": "email"}'
  if (operationIn(key) !== undefined && argumentKindOf(key) !== "any" && argumentKindOf(key) !== "text") {
    return "Expected an expression that returns a string that differs between users"
  }
  return variesByUser(key)
    ? undefined
    : "Expected an expression that differs between users: this one puts all users in one bucket"
}

const bucketProblems = (bucket: unknown, index: number): ReadonlyArray<FlagProblem> => {
  if (!Array.isArray(bucket)) return [{ path: [index], problem: "Expected [variant, weight]" }]
  if (bucket.length !== 2) {
    const problem =
      bucket.length === 1
        ? `Expected [variant, weight]: the weight is missing; all weights must sum to ${total}`
        : `Expected [variant, weight], not ${bucket.length} elements`
    return [{ path: [index], problem }]
  }
  const problems: Array<FlagProblem> = []
  if (argumentKindOf(bucket[0]) === "list")
    problems.push({ path: [index, 0], problem: "Expected a variant, not a list" })
  if (!Number.isInteger(bucket[1]) || bucket[1] < 0 || bucket[1] > total) {
    problems.push({ path: [index, 1], problem: `Expected a literal whole number from 0 to ${total}` })
  }
  return problems
}

/** The buckets without the bucketing key, and the index of the first one. */
export const bucketsIn = (operand: unknown): { readonly from: number; readonly buckets: ReadonlyArray<unknown> } => {
  const given: ReadonlyArray<unknown> = Array.isArray(operand) ? operand : []
  const from = given.length > 0 && !Array.isArray(given[0]) ? 1 : 0
  return { from, buckets: given.slice(from) }
}

/** Problems of `fractional`: an optional bucketing key, and [variant, weight] pairs whose weights sum to 100. */
export const fractionalProblems = (operand: unknown): ReadonlyArray<FlagProblem> => {
  if (!Array.isArray(operand)) return [{ path: [], problem: "Expected a list of [variant, weight]" }]
  const { buckets, from } = bucketsIn(operand)
  const problems: Array<FlagProblem> = []
  const problem = from === 1 ? keyFault(operand[0]) : undefined
  if (problem !== undefined) problems.push({ path: [0], problem })
  if (buckets.length === 0) problems.push({ path: [], problem: "Expected at least one [variant, weight]" })
  const faults = buckets.flatMap((bucket, index) => bucketProblems(bucket, from + index))
  if (faults.length > 0 || buckets.length === 0) return [...problems, ...faults]
  const sum = (buckets as ReadonlyArray<readonly [unknown, number]>).reduce((sum, [, weight]) => sum + weight, 0)
  return sum === total
    ? problems
    : [...problems, { path: [], problem: `Expected weights that sum to ${total}, not ${sum}` }]
}
