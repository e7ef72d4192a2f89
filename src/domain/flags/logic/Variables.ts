import { parsedNumber, wholeNumber } from "./NumberText.ts"
import { type Compiler, type FlagScope, type ScopedOperator, RuleError, ofValues } from "./Scope.ts"
import { isList, isNumber, kindOf, listOf, toNumber, toText } from "./Values.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** The steps of `a.b.0`; empty ones are skipped. */
export const stepsOf = (path: string): ReadonlyArray<string> => path.split(".").filter((step) => step !== "")

/** The index of a step; 0 if it is not a number. */
const indexOf = (step: string): number => wholeNumber(parsedNumber(step) ?? 0)

/** The value at a path of own properties and items. Null counts as missing. */
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
 * `var` of its evaluated arguments: a path, [path] or [path, default]. An empty path is all data; null is the data unless
 * that is a list or an object.
 */
export const lookUpPath = (path: unknown, data: unknown, scope: FlagScope): unknown => {
  if (path === null || path === undefined) return typeof data === "object" ? null : (data ?? null)
  if (path === "") return data ?? null
  let wantedPath: unknown = isNumber(path) ? toText(path) : path
  let missing: unknown = null
  if (isList(path)) {
    if (path.length === 0) return data ?? null
    wantedPath = path[0]
    if (path.length === 2) missing = path[1] ?? null
    if (typeof wantedPath !== "string")
      throw new RuleError(`the path of var must be a string, not ${kindOf(wantedPath)}`)
  }
  if (data === null || data === undefined) return missing
  if (typeof wantedPath !== "string") throw new RuleError(`the path of var must be a string, not ${kindOf(wantedPath)}`)
  scope.spend(wantedPath.length)
  return walk(stepsOf(wantedPath), data, missing)
}

const variable: ScopedOperator = (written, depth, compiler) => {
  const [path, missing = null] = isList(written) && written.length <= 2 ? written : [written]
  const isDefaultPlain = typeof missing !== "object" || missing === null
  if (typeof path === "string" && isDefaultPlain) {
    const steps = stepsOf(path)
    return (scope) => walk(steps, scope.data, missing)
  }
  const values = compiler.part(written, depth).run
  return (scope) => {
    scope.spend(8)
    return lookUpPath(values(scope), scope.data, scope)
  }
}

/** Whether there is nothing at a path. A path that is not a string is evaluated first. */
const isMissing = (path: unknown, depth: number, compiler: Compiler, scope: FlagScope): boolean => {
  scope.spend(8)
  const given = typeof path === "string" ? path : compiler.dynamic(path, depth, scope)(scope)
  return lookUpPath(given, scope.data, scope) === null
}

/** The paths that lead to nothing. */
const missing: ScopedOperator = (written, depth, compiler) =>
  ofValues((values, scope) => {
    const paths = typeof values === "string" ? [values] : listOf(values, "missing")
    return paths.filter((path) => isMissing(path, depth + 1, compiler, scope))
  })(written, depth, compiler)

/** Empty if at least the given number of paths lead to a value, or else the missing paths. */
const missingSome: ScopedOperator = (written, depth, compiler) =>
  ofValues((values, scope) => {
    const given = listOf(values, "missing_some")
    const needed = wholeNumber(toNumber(given[0], scope))
    const paths = listOf(given[1], "missing_some")
    const missed = paths.filter((path) => isMissing(path, depth + 1, compiler, scope))
    return needed > paths.length - missed.length ? missed : []
  })(written, depth, compiler)

export const variables: Readonly<Record<string, ScopedOperator>> = { var: variable, missing, missing_some: missingSome }
