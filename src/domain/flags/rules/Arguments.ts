import { FlagScope } from "../logic/Scope.ts"
import { semver } from "../logic/Semver.ts"
import { isJsonObject } from "../../text/JsonObject.ts"
import { shortened } from "../Problem.ts"
import { referenceIn } from "../SegmentsInlined.ts"

/** What an operator can answer, as far as it shows from the rule. `any` also stands for what only the context decides. */
export type RuleKind = "any" | "boolean" | "number" | "text" | "list"

const kinds: ReadonlyMap<string, RuleKind> = new Map(
  Object.entries({
    boolean: "== != === !== < <= > >= ! !! in all some none starts_with ends_with sem_ver",
    number: "+ - * / % min max",
    text: "cat substr",
    list: "missing missing_some map filter merge"
  } as const).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as RuleKind] as const))
)

/** The operator of an expression and what it is given; undefined for what is no expression. */
export const operationIn = (value: unknown): readonly [operator: string, operand: unknown] | undefined => {
  if (!isJsonObject(value)) return undefined
  const names = Object.keys(value)
  return names.length === 1 ? [names[0] as string, value[names[0] as string]] : undefined
}

/** The kind of an expression or literal; null is `any`. A segment tells who is in it: true or false. */
export const kindOf = (value: unknown): RuleKind => {
  if (typeof value === "boolean") return "boolean"
  if (typeof value === "number") return "number"
  if (typeof value === "string") return "text"
  if (Array.isArray(value)) return "list"
  if (referenceIn(value) !== undefined) return "boolean"
  const [operator] = operationIn(value) ?? []
  return operator === undefined ? "any" : (kinds.get(operator) ?? "any")
}

export const isLiteral = (value: unknown) => !isJsonObject(value)

/** What is wrong with one argument, or undefined. */
export type ArgumentFault = (value: unknown) => string | undefined

const named: Readonly<Record<RuleKind, string>> = {
  any: "null",
  boolean: "true or false",
  number: "a number",
  text: "a text",
  list: "a list"
}

const isOf = (value: unknown, accepted: ReadonlyArray<RuleKind>) => {
  const kind = kindOf(value)
  return kind === "any" ? value !== null : accepted.includes(kind)
}

const seen = (value: unknown) => (typeof value === "string" ? JSON.stringify(shortened(value)) : named[kindOf(value)])

/** `Expected a text, not true or false`. */
const expected = (what: string, value: unknown) => `Expected ${what}, not ${seen(value)}`

export const anything: ArgumentFault = () => undefined

/** To compare by value: a list is equal to nothing, not to itself either. */
export const comparable: ArgumentFault = (value) =>
  kindOf(value) === "list" ? expected("a single value", value) : undefined

export const numeric: ArgumentFault = (value) => {
  if (typeof value === "string") {
    return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value) ? undefined : expected("a number", value)
  }
  return isOf(value, ["number", "text"]) ? undefined : expected("a number", value)
}

export const wholeNumber: ArgumentFault = (value) =>
  isLiteral(value) && !Number.isInteger(value) ? "Expected a whole number" : numeric(value)

export const divisor: ArgumentFault = (value) =>
  isLiteral(value) && Number(value) === 0 ? "Expected another number than 0" : numeric(value)

/** What can be put into a text. */
export const printable: ArgumentFault = (value) =>
  value === null || isOf(value, ["number", "text"]) ? undefined : expected("a text or a number", value)

export const text: ArgumentFault = (value) => (isOf(value, ["text"]) ? undefined : expected("a text", value))

/** A list to go through: an expression that gives one, or one of plain values. */
export const list: ArgumentFault = (value) => {
  if (!isOf(value, ["list"])) return expected("a list", value)
  return holdsExpression(value) ? "Expected plain values only: expressions in this list are not evaluated" : undefined
}

const holdsExpression = (value: unknown): boolean =>
  Array.isArray(value) && value.some((element) => isJsonObject(element) || holdsExpression(element))

/** What is done with each element of a list, and can't be a plain value. */
export const logic: ArgumentFault = (value) =>
  isLiteral(value) ? 'Expected an expression, such as {"==": [{"var": ""}, "a"]}' : undefined

/** As `logic`, but no segment: one without a rule is a plain value. */
export const step: ArgumentFault = (value) =>
  referenceIn(value) === undefined ? logic(value) : "Expected an expression other than a segment"

/** As `logic`, where flagd takes a lone `var` or segment for its value, and then fails on it. */
export const condition: ArgumentFault = (value) => {
  const [operator, operand] = operationIn(value) ?? []
  const whole = operand === "" || (typeof operand === "string" && operand.startsWith("."))
  return operator === "$ref" || (operator === "var" && !whole)
    ? 'Expected a condition: put a lone value into {"!!": [ … ]}'
    : logic(value)
}

/** What `reduce` begins with. */
export const beginning: ArgumentFault = (value) =>
  value === null || kindOf(value) === "list" ? expected("a number, a text, true or false", value) : undefined

/** The name of an attribute of the context, or an expression that gives one. */
export const attribute: ArgumentFault = (value) =>
  isOf(value, ["text"]) ? undefined : expected("the name of an attribute", value)

/** As `attribute`; the number of an element is one too. */
export const element: ArgumentFault = (value) =>
  isOf(value, ["text", "number"]) ? undefined : expected("the name of an attribute", value)

/** Names of attributes as one list. */
export const attributes: ArgumentFault = (value) => {
  if (!isOf(value, ["list"])) return expected("a list of attributes", value)
  const faults = Array.isArray(value) ? value.map(element).filter((fault) => fault !== undefined) : []
  return faults[0]
}

const comparisons = ["=", "!=", "<", "<=", ">", ">=", "^", "~"]

export const versionOperator: ArgumentFault = (value) => {
  if (!isLiteral(value)) return text(value)
  return comparisons.includes(value as string) ? undefined : `Expected one of ${comparisons.join(" ")}`
}

/** A version, with `v` or without, down to `1`; a number stands for how it is written. */
export const version: ArgumentFault = (value) => {
  const isGood = isLiteral(value)
    ? semver([value, "=", value], new FlagScope(null, "v2")) !== null
    : isOf(value, ["text", "number"])
  return isGood ? undefined : expected("a version such as 1.2.3", value)
}
