import { parsedNumber, wholeNumber } from "./NumberText.ts"
import { type Compiler, type FlagScope, type Operator, RuleError, ofValues } from "./Scope.ts"
import { isList, isNumber, kindOf, listOf, toNumber, toText } from "./Values.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** The steps of `a.b.0`; empty ones are skipped. */
export const stepsOf = (path: string): ReadonlyArray<string> => path.split(".").filter((step) => step !== "")

/** The index a step means; one that is no number means the first item. */
const indexOf = (step: string): number => wholeNumber(parsedNumber(step) ?? 0)

/** Own properties and items only. Null is as missing as what is not there. */
export const walk = (steps: ReadonlyArray<string>, data: unknown, missing: unknown): unknown => {
  let value = data
  for (const step of steps) {
    if (isList(value)) value = value[indexOf(step)]
    else if (isJsonObject(value) && Object.hasOwn(value, step)) value = value[step]
    else return missing
    if (value === null || value === undefined) return missing
  }
  return value ?? missing
}

/**
 * `var` of its evaluated arguments: a path, or [path] or [path, what there is else]. Null asks for the data when that
 * is no list or object, an empty path for all of it.
 */
export const lookUp = (path: unknown, data: unknown, scope: FlagScope): unknown => {
  if (path === null || path === undefined) return typeof data === "object" ? null : (data ?? null)
  if (path === "") return data ?? null
  let wanted: unknown = isNumber(path) ? toText(path) : path
  let missing: unknown = null
  if (isList(path)) {
    if (path.length === 0) return data ?? null
    wanted = path[0]
    if (path.length === 2) missing = path[1] ?? null
    if (typeof wanted !== "string") throw new RuleError(`the path of var must be a text, not ${kindOf(wanted)}`)
  }
  if (data === null || data === undefined) return missing
  if (typeof wanted !== "string") throw new RuleError(`the path of var must be a text, not ${kindOf(wanted)}`)
  scope.spend(wanted.length)
  return walk(stepsOf(wanted), data, missing)
}

const variable: Operator = (written, depth, compiler) => {
  const [path, missing = null] = isList(written) && written.length <= 2 ? written : [written]
  const isDefaultPlain = typeof missing !== "object" || missing === null
  if (typeof path === "string" && isDefaultPlain) {
    const steps = stepsOf(path)
    return (scope) => walk(steps, scope.data, missing)
  }
  const values = compiler.part(written, depth).run
  return (scope) => {
    scope.spend(8)
    return lookUp(values(scope), scope.data, scope)
  }
}

/** Whether `var` finds nothing. What a value out of the context asks for is evaluated first. */
const isMissing = (path: unknown, depth: number, compiler: Compiler, scope: FlagScope): boolean => {
  scope.spend(8)
  const given = typeof path === "string" ? path : compiler.dynamic(path, depth, scope)(scope)
  return lookUp(given, scope.data, scope) === null
}

/** The paths at which there is nothing. */
const missing: Operator = (written, depth, compiler) =>
  ofValues((values, scope) => {
    const paths = typeof values === "string" ? [values] : listOf(values, "missing")
    return paths.filter((path) => isMissing(path, depth + 1, compiler, scope))
  })(written, depth, compiler)

/** None, when at least so many are there, else those that are missing. */
const missingSome: Operator = (written, depth, compiler) =>
  ofValues((values, scope) => {
    const given = listOf(values, "missing_some")
    const needed = wholeNumber(toNumber(given[0], scope))
    const paths = listOf(given[1], "missing_some")
    const missed = paths.filter((path) => isMissing(path, depth + 1, compiler, scope))
    return needed > paths.length - missed.length ? missed : []
  })(written, depth, compiler)

export const variables: Readonly<Record<string, Operator>> = { var: variable, missing, missing_some: missingSome }
