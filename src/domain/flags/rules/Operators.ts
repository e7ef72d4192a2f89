import {
  anything,
  type ArgumentFault,
  attribute,
  attributes,
  beginning,
  comparable,
  condition,
  divisor,
  element,
  isLiteral,
  kindOf,
  list,
  logic,
  numeric,
  operationIn,
  printable,
  step,
  text,
  version,
  versionOperator,
  wholeNumber
} from "./Arguments.ts"
import { type FlagProblem } from "../Problem.ts"

/** How an operator may be written so that flagd can evaluate it. */
export interface RuleOperator {
  /** Number of arguments. */
  readonly least: number
  readonly most: number
  /** What each argument may be; the last holds for all further ones. */
  readonly given: ReadonlyArray<ArgumentFault>
  /** What may stand there without a list around it, if anything. */
  readonly lone?: ArgumentFault
  /** What depends on several arguments; paths begin with the argument's index. */
  readonly together?: (given: ReadonlyArray<unknown>) => ReadonlyArray<FlagProblem>
  /** The argument that is evaluated with each element of a list for its context. */
  readonly inner?: number
}

const many = Number.POSITIVE_INFINITY

const operator = (
  least: number,
  most: number,
  given: ReadonlyArray<ArgumentFault>,
  more: Omit<RuleOperator, "least" | "most" | "given"> = {}
): RuleOperator => ({ least, most, given, ...more })

const textAlone: ArgumentFault = (value) =>
  typeof value === "string" ? undefined : 'Expected a list of arguments: {"cat": [ … ]}'

const missingAlone: ArgumentFault = (value) =>
  isLiteral(value) || kindOf(value) !== "list" ? attribute(value) : undefined

const variableAlone: ArgumentFault = (value) => (value === null ? undefined : element(value))

/** In a text only texts can be looked for: flagd fails on all else. */
const inText = (needle: unknown): string | undefined => {
  const [name, operand] = operationIn(needle) ?? []
  const bare = name === "var" && !(Array.isArray(operand) && typeof operand[1] === "string")
  return bare
    ? 'Expected a list to look in, such as ["a", "b"], or a default for the attribute: in a text a missing one fails'
    : text(needle)
}

const membership = ([needle, among]: ReadonlyArray<unknown>): ReadonlyArray<FlagProblem> => {
  if (typeof among === "string") {
    const problem = inText(needle)
    return problem === undefined ? [] : [{ path: [operationIn(needle)?.[0] === "var" ? 1 : 0], problem }]
  }
  if (Array.isArray(among)) {
    // flagd takes a list in the list for a range of numbers, and can't compare a number with the others.
    return among.flatMap((value: unknown, index) =>
      value === null || kindOf(value) === "list" || kindOf(value) === "boolean"
        ? [{ path: [1, index], problem: "Expected a text or a number to compare with" }]
        : []
    )
  }
  const kind = kindOf(among)
  return among === null || kind === "boolean" || kind === "number"
    ? [{ path: [1], problem: "Expected a list or a text to look in" }]
    : []
}

const equality = operator(2, 2, [comparable])
const between = operator(2, 3, [comparable])
const order = operator(2, 2, [comparable])
const branches = operator(1, many, [anything])
const negation = operator(1, 1, [anything], { lone: anything })
const extreme = operator(1, many, [numeric])
const quantifier = operator(2, 2, [list, condition], { inner: 1 })
const affix = operator(2, 2, [text])

/** All operators but `fractional` and `$ref`, which are checked on their own. */
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
    in: operator(2, 2, [anything], { together: membership }),
    var: operator(0, 2, [attribute, anything], { lone: variableAlone }),
    missing: operator(1, many, [element], { lone: missingAlone }),
    missing_some: operator(2, 2, [wholeNumber, attributes]),
    cat: operator(1, many, [printable], { lone: textAlone }),
    substr: operator(2, 3, [printable, wholeNumber]),
    "+": operator(1, many, [numeric], { lone: numeric }),
    "-": operator(1, 2, [numeric]),
    "*": operator(1, many, [numeric]),
    "/": operator(2, 2, [numeric, divisor]),
    "%": operator(2, 2, [numeric, divisor]),
    min: extreme,
    max: extreme,
    merge: operator(1, many, [anything]),
    map: operator(2, 2, [list, anything], { inner: 1 }),
    filter: operator(2, 2, [list, logic], { inner: 1 }),
    reduce: operator(3, 3, [list, step, beginning], { inner: 1 }),
    all: quantifier,
    some: quantifier,
    none: quantifier,
    starts_with: affix,
    ends_with: affix,
    sem_ver: operator(3, 3, [version, versionOperator, version])
  })
)

/** `Expected 2 arguments, not 3`; undefined when there are as many as there must be. */
export const countFault = ({ least, most }: RuleOperator, count: number): string | undefined => {
  if (count >= least && count <= most) return undefined
  const range = most === many ? `at least ${least}` : least === most ? String(least) : `${least}–${most}`
  return `Expected ${range} ${range === "1" || range === "at least 1" ? "argument" : "arguments"}, not ${count}`
}
