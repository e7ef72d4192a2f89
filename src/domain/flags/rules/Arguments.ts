import { FlagScope } from "../logic/Scope.ts"
import { semver } from "../logic/Semver.ts"
import { isJsonObject } from "../../text/JsonObject.ts"
import { shortened } from "../Problem.ts"
import { referenceIn } from "../SegmentsInlined.ts"

/** The type of a value, as far as the rule determines it. `any` includes types that depend on the context. */
export type RuleKind = "any" | "boolean" | "number" | "text" | "list"

const kinds: ReadonlyMap<string, RuleKind> = new Map(
  Object.entries({
    boolean: "== != === !== < <= > >= ! !! in all some none starts_with ends_with sem_ver",
    number: "+ - * / % min max",
    text: "cat substr",
    list: "missing missing_some map filter merge"
  } as const).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as RuleKind] as const))
)

/** The operator of an expression and its operand; undefined for other values. */
export const operationIn = (value: unknown): readonly [operator: string, operand: unknown] | undefined => {
  if (!isJsonObject(value)) return undefined
  const names = Object.keys(value)
  return names.length === 1 ? [names[0] as string, value[names[0] as string]] : undefined
}

/** The kind of an expression or literal; null is `any`. A segment is a condition: true or false. */
export const argumentKindOf = (value: unknown): RuleKind => {
  if (typeof value === "boolean") return "boolean"
  if (typeof value === "number") return "number"
  if (typeof value === "string") return "text"
  if (Array.isArray(value)) return "list"
  if (referenceIn(value) !== undefined) return "boolean"
  const [operator] = operationIn(value) ?? []
  return operator === undefined ? "any" : (kinds.get(operator) ?? "any")
}

export const isLiteral = (value: unknown) => !isJsonObject(value)

/** The problem of an argument, or undefined. */
export type ArgumentFault = (value: unknown) => string | undefined

const named: Readonly<Record<RuleKind, string>> = {
  any: "null",
  boolean: "true or false",
  number: "a number",
  text: "a string",
  list: "a list"
}

const isOf = (value: unknown, accepted: ReadonlyArray<RuleKind>) => {
  const kind = argumentKindOf(value)
  return kind === "any" ? value !== null : accepted.includes(kind)
}

const described = (value: unknown) =>
  typeof value === "string" ? JSON.stringify(shortened(value)) : named[argumentKindOf(value)]

/** `Expected a string, not true or false`. */
const expected = (what: string, value: unknown) => `Expected ${what}, not ${described(value)}`

export const anything: ArgumentFault = () => undefined

/** A value to compare, which can't be a list, because a list does not equal itself. */
export const comparable: ArgumentFault = (value) =>
  argumentKindOf(value) === "list" ? expected("a single value", value) : undefined

export const numeric: ArgumentFault = (value) => {
  if (typeof value === "string") {
    return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value) ? undefined : expected("a number", value)
  }
  return isOf(value, ["number", "text"]) ? undefined : expected("a number", value)
}

export const wholeNumberArgument: ArgumentFault = (value) =>
  isLiteral(value) && !Number.isInteger(value) ? "Expected a whole number" : numeric(value)

export const divisor: ArgumentFault = (value) =>
  isLiteral(value) && Number(value) === 0 ? "Expected a number other than 0" : numeric(value)

/** A value that `cat` can print. */
export const printable: ArgumentFault = (value) =>
  value === null || isOf(value, ["number", "text"]) ? undefined : expected("a string or a number", value)

export const textArgument: ArgumentFault = (value) => (isOf(value, ["text"]) ? undefined : expected("a string", value))

/** A list to iterate: an expression that returns one, or a list of plain values. */
export const listArgument: ArgumentFault = (value) => {
  if (!isOf(value, ["list"])) return expected("a list", value)
  return holdsExpression(value) ? "Expected plain values only: expressions in this list are not evaluated" : undefined
}

const holdsExpression = (value: unknown): boolean =>
  Array.isArray(value) && value.some((element) => isJsonObject(element) || holdsExpression(element))

/** The rule of an element, which can't be a plain value. */
export const logic: ArgumentFault = (value) =>
  isLiteral(value) ? 'Expected an expression, such as {"==": [{"var": ""}, "a"]}' : undefined

/** Like `logic`, but rejects segments, because a segment without a rule is a plain value. */
export const step: ArgumentFault = (value) =>
  referenceIn(value) === undefined ? logic(value) : "Expected an expression other than a segment"

/** Like `logic`, where flagd replaces a single `var` or segment by its value and then fails. */
export const condition: ArgumentFault = (value) => {
  const [operator, operand] = operationIn(value) ?? []
  const whole = operand === "" || (typeof operand === "string" && operand.startsWith("."))
  return operator === "$ref" || (operator === "var" && !whole)
    ? 'Expected a condition: wrap a single value in {"!!": [ … ]}'
    : logic(value)
}

/** The initial value of `reduce`. */
export const initial: ArgumentFault = (value) =>
  value === null || argumentKindOf(value) === "list" ? expected("a number, a string, true or false", value) : undefined

/** The name of an attribute of the context, or an expression that returns one. */
export const attribute: ArgumentFault = (value) =>
  isOf(value, ["text"]) ? undefined : expected("the name of an attribute", value)

/** Like `attribute`, but also accepts the index of an element. */
export const element: ArgumentFault = (value) =>
  isOf(value, ["text", "number"]) ? undefined : expected("the name of an attribute", value)

/** A list of names of attributes. */
export const attributes: ArgumentFault = (value) => {
  if (!isOf(value, ["list"])) return expected("a list of attributes", value)
  const faults = Array.isArray(value) ? value.map(element).filter((fault) => fault !== undefined) : []
  return faults[0]
}

const comparisons = ["=", "!=", "<", "<=", ">", ">=", "^", "~"]

export const versionOperator: ArgumentFault = (value) => {
  if (!isLiteral(value)) return textArgument(value)
  return comparisons.includes(value as string) ? undefined : `Expected one of ${comparisons.join(" ")}`
}

/** A version such as `1`, `1.2` or `v1.2.3`; a number counts as its text. */
export const versionArgument: ArgumentFault = (value) => {
  const isGood = isLiteral(value)
    ? semver([value, "=", value], new FlagScope(null, "v2")) !== null
    : isOf(value, ["text", "number"])
  return isGood ? undefined : expected("a version such as 1.2.3", value)
}
