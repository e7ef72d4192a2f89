import { lookUpPath, stepsOf, walk } from "./Variables.ts"
import {
  type Compiler,
  type FlagScope,
  type ScopedOperator,
  type Rule,
  RuleError,
  refusal,
  ruleDepth
} from "./Scope.ts"
import { isList } from "./Values.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** Whether a path is looked up in the context around the list. A leading dot always refers to the item. */
const isSolved = (path: string): boolean => path !== "" && !path.startsWith(".")

/**
 * The rule of `filter`, `all`, `some` and `none` with each `var` replaced by its value. flagd does this with the context
 * around the list before it evaluates items, so that an attribute of the same name hides the item's. A `var` stays if its
 * path is empty, starts with a dot or leads to nothing.
 */
export const solved = (logic: unknown, depth: number, compiler: Compiler, scope: FlagScope): unknown => {
  if (typeof logic !== "object" || logic === null) return logic
  if (depth > ruleDepth) throw new RuleError(`the rule is nested more than ${ruleDepth} levels deep`)
  if (isList(logic)) {
    scope.spend(4 * logic.length)
    return logic.map((part) => solved(part, depth + 1, compiler, scope))
  }
  if (!isJsonObject(logic)) return logic
  const names = Object.keys(logic)
  scope.spend(16 * names.length + 16)
  const parts: Array<readonly [string, unknown]> = []
  for (const name of names) {
    const part = logic[name]
    if (name !== "var") {
      parts.push([name, solved(part, depth + 1, compiler, scope)])
      continue
    }
    if (typeof part !== "string" || isSolved(part)) {
      const path = typeof part === "string" ? part : compiler.dynamic(part, depth + 1, scope)(scope)
      const value = lookUpPath(path, scope.data, scope)
      if (value !== null) return value
    }
    parts.push([name, part])
  }
  // An assignment would set the prototype for the name __proto__.
  return Object.fromEntries(parts)
}

/** Operators that evaluate their arguments first. */
const plainOperators = new Set(
  "== != === !== < <= > >= + - * / % min max in merge cat substr starts_with ends_with sem_ver and or if ! !!".split(
    " "
  )
)

const isSolvable = (part: unknown, depth: number): boolean => {
  if (typeof part !== "object" || part === null) return true
  if (depth > ruleDepth) return false
  if (isList(part)) return part.every((item) => isSolvable(item, depth + 1))
  if (!isJsonObject(part)) return false
  const [name, ...others] = Object.keys(part)
  if (name === undefined || others.length > 0) return false
  if (name === "var") return typeof part[name] === "string"
  return plainOperators.has(name) && isList(part[name]) && isSolvable(part[name], depth + 1)
}

/** The data of variables in an item's rule: the context around the list, the item, or both in turn. */
export type Solving = "outer" | "item" | "both"

/**
 * `var` in a rule of an item that is compiled once: returns the value that `solved` would have put in its place, and
 * evaluates lists and objects, as they would be evaluated there.
 */
const solvingVariable =
  (solving: Solving): ScopedOperator =>
  (written, depth, compiler) => {
    if (typeof written !== "string") return refusal("the path of var must be a string")
    const steps = stepsOf(written)
    if (!isSolved(written)) return (scope) => walk(steps, scope.data, null)
    const evaluated = (value: unknown, scope: FlagScope): unknown =>
      typeof value === "object" ? compiler.dynamic(value, depth, scope)(scope) : value
    return (scope) => {
      const outer = solving === "item" ? null : walk(steps, scope.outer, null)
      if (outer !== null) {
        const isToSolve = solving === "both" && typeof outer === "object"
        return evaluated(isToSolve ? solved(outer, depth, compiler, scope) : outer, scope)
      }
      const value = walk(steps, scope.data, null)
      return solving === "outer" || value === null ? value : evaluated(value, scope)
    }
  }

/**
 * The compiled rule of an item, equivalent to its `solved` form. Undefined unless it consists of operators with lists of
 * arguments and of variables whose paths are strings.
 */
export const solvingRule = (logic: unknown, depth: number, compiler: Compiler, solving: Solving): Rule | undefined => {
  if (!isJsonObject(logic) || Object.hasOwn(logic, "var") || !isSolvable(logic, depth)) return undefined
  return compiler.withVariable(solvingVariable(solving)).part(logic, depth).run
}
