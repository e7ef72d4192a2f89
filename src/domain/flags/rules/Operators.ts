import {
  anything,
  type ArgumentFault,
  attribute,
  attributes,
  initial,
  comparable,
  condition,
  divisor,
  element,
  isLiteral,
  argumentKindOf,
  listArgument,
  logic,
  numeric,
  printable,
  step,
  textArgument,
  versionArgument,
  versionOperator,
  wholeNumberArgument
} from "./Arguments.ts"
import { type FlagProblem } from "../Problem.ts"

/** The form in which flagd can evaluate an operator. */
export interface RuleOperator {
  /** Number of arguments. */
  readonly min: number
  readonly max: number
  /** Checks of the arguments; the last one applies to all further ones. */
  readonly args: ReadonlyArray<ArgumentFault>
  /** Check of a single argument without a list around it; such an argument is invalid without it. */
  readonly single?: ArgumentFault
  /** Check of several arguments together. Paths start with the index of the argument. */
  readonly combined?: (args: ReadonlyArray<unknown>) => ReadonlyArray<FlagProblem>
  /** Index of the argument that is evaluated with each element of a list as its context. */
  readonly inner?: number
}

const many = Number.POSITIVE_INFINITY

const operator = (
  min: number,
  max: number,
  args: ReadonlyArray<ArgumentFault>,
  more: Omit<RuleOperator, "min" | "max" | "args"> = {}
): RuleOperator => ({ min, max, args, ...more })

const singleText: ArgumentFault = (value) =>
  typeof value === "string" ? undefined : 'Expected a list of arguments: {"cat": [ … ]}'

const singleMissing: ArgumentFault = (value) =>
  isLiteral(value) || argumentKindOf(value) !== "list" ? attribute(value) : undefined

const singleVariable: ArgumentFault = (value) => (value === null ? undefined : element(value))

const membership = ([needle, among]: ReadonlyArray<unknown>): ReadonlyArray<FlagProblem> => {
  if (typeof among === "string") {
    const problem = textArgument(needle)
    return problem === undefined ? [] : [{ path: [0], problem }]
  }
  if (Array.isArray(among)) {
    // flagd treats a list in the list as a range of numbers, and can't compare a number with the others.
    return among.flatMap((value: unknown, index) =>
      value === null || argumentKindOf(value) === "list" || argumentKindOf(value) === "boolean"
        ? [{ path: [1, index], problem: "Expected a string or a number to compare with" }]
        : []
    )
  }
  const kind = argumentKindOf(among)
  return among === null || kind === "boolean" || kind === "number"
    ? [{ path: [1], problem: "Expected a list or a string to search" }]
    : []
}

const equality = operator(2, 2, [comparable])
const between = operator(2, 3, [comparable])
const order = operator(2, 2, [comparable])
const branches = operator(1, many, [anything])
const negation = operator(1, 1, [anything], { single: anything })
const extreme = operator(1, many, [numeric])
const quantifier = operator(2, 2, [listArgument, condition], { inner: 1 })
const affix = operator(2, 2, [textArgument])

/** All operators except `fractional` and `$ref`, which have their own checks. */
export const ruleOperators: ReadonlyMap<string, RuleOperator> = new Map(
  Object.entries({
    if: branches,
    and: branches,
    or: branches,
    "!": negation,
    "!!": negation,
    "==": equality,
    "!=": equality,
    "===": equality,
    "!==": equality,
    "<": between,
    "<=": between,
    ">": order,
    ">=": order,
    in: operator(2, 2, [anything], { combined: membership }),
    var: operator(0, 2, [attribute, anything], { single: singleVariable }),
    missing: operator(1, many, [element], { single: singleMissing }),
    missing_some: operator(2, 2, [wholeNumberArgument, attributes]),
    cat: operator(1, many, [printable], { single: singleText }),
    substr: operator(2, 3, [printable, wholeNumberArgument]),
    "+": operator(1, many, [numeric], { single: numeric }),
    "-": operator(1, 2, [numeric]),
    "*": operator(1, many, [numeric]),
    "/": operator(2, 2, [numeric, divisor]),
    "%": operator(2, 2, [numeric, divisor]),
    min: extreme,
    max: extreme,
    merge: operator(1, many, [anything]),
    map: operator(2, 2, [listArgument, anything], { inner: 1 }),
    filter: operator(2, 2, [listArgument, logic], { inner: 1 }),
    reduce: operator(3, 3, [listArgument, step, initial], { inner: 1 }),
    all: quantifier,
    some: quantifier,
    none: quantifier,
    starts_with: affix,
    ends_with: affix,
    sem_ver: operator(3, 3, [versionArgument, versionOperator, versionArgument])
  })
)

/** `Expected 2 arguments, not 3`; undefined if the number is valid. */
export const countFault = ({ max, min }: RuleOperator, count: number): string | undefined => {
  if (count >= min && count <= max) return undefined
  const range = max === many ? `at least ${min}` : min === max ? String(min) : `${min}–${max}`
  return `Expected ${range} ${range === "1" || range === "at least 1" ? "argument" : "arguments"}, not ${count}`
}
