import { type JsonPath } from "../Json.ts"
import { type FlagProblem, shortened } from "../Problem.ts"
import { kindOf, operationIn } from "./Arguments.ts"
import { bucketsIn } from "./Fractional.ts"
import { type FlagSegmentsInlined } from "../SegmentsInlined.ts"

type Single = string | number | boolean | null

/**
 * What an expression can give, as far as it shows from the rule: one of `values`, written there or told by an operator,
 * or something that no variant can be called. `segment`: the one whose rule gives it.
 */
type Outcome = (
  | { readonly values: ReadonlyArray<Single>; readonly told: boolean }
  | { readonly never: "a list" | "the whole context" }
) & { readonly segment?: string }

/** Which outcomes are asked for: `and` and `or` go on from some, and give the others. */
type Asked = "any" | "true" | "false"

type Emit = (path: JsonPath, outcome: Outcome) => void

/** True, false, or null when what they are given does not suit them. */
const nullable = new Set(["starts_with", "ends_with", "sem_ver"])

const isAsked = (value: Single, asked: Asked) => asked === "any" || (asked === "true") === Boolean(value)

/** The outcome without what is not asked for; undefined when nothing is left. Lists are taken for both. */
const narrowed = (outcome: Outcome, asked: Asked): Outcome | undefined => {
  if ("never" in outcome) return asked === "false" && outcome.never === "the whole context" ? undefined : outcome
  const values = outcome.values.filter((value) => isAsked(value, asked))
  return values.length === 0 ? undefined : { ...outcome, values }
}

class Outcomes {
  readonly #segments: FlagSegmentsInlined
  readonly #known = new Map<string, ReadonlyArray<Outcome>>()

  constructor(segments: FlagSegmentsInlined) {
    this.#segments = segments
  }

  /** Of the segment, each once. */
  #ofSegment(key: string): ReadonlyArray<Outcome> {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const found = new Map<string, Outcome>()
    const rule = this.#segments.rules.get(key)
    const empty = typeof rule === "object" && rule !== null && Object.keys(rule).length === 0
    this.walk(empty ? false : rule, [], "any", (_path, outcome) => found.set(JSON.stringify(outcome), outcome))
    const outcomes = Array.from(found.values())
    this.#known.set(key, outcomes)
    return outcomes
  }

  walk(value: unknown, path: JsonPath, asked: Asked, emit: Emit): void {
    const give = (outcome: Outcome, at = path) => {
      const left = narrowed(outcome, asked)
      if (left !== undefined) emit(at, left)
    }
    if (Array.isArray(value)) return give({ never: "a list" })
    const [operator, operand] = operationIn(value) ?? []
    if (operator === undefined) return give({ values: [value as Single], told: false })
    const given: ReadonlyArray<unknown> = Array.isArray(operand) ? operand : [operand]
    const at = [...path, operator]
    const into = (index: number, asked: Asked) => this.walk(given[index], [...at, index], asked, emit)
    if (operator === "if") {
      for (let index = 1; index < given.length; index += 2) into(index, asked)
      if (given.length % 2 === 1) into(given.length - 1, asked)
    } else if (operator === "and" || operator === "or") {
      const ends = operator === "and" ? "false" : "true"
      for (const index of given.keys()) {
        if (index === given.length - 1) into(index, asked)
        else if (asked === "any" || asked === ends) into(index, ends)
      }
    } else if (operator === "fractional") {
      const { buckets, from } = bucketsIn(operand)
      for (const [index, bucket] of buckets.entries()) {
        this.walk((bucket as ReadonlyArray<unknown>)[0], [...at, from + index, 0], asked, emit)
      }
    } else if (operator === "var") {
      if (given.length === 0 || (typeof given[0] === "string" && /^\.*$/.test(given[0])))
        give({ never: "the whole context" })
      else if (given.length === 2) into(1, asked)
    } else if (operator === "$ref") {
      for (const outcome of this.#ofSegment(operand as string)) give({ ...outcome, segment: operand as string }, at)
    } else if (kindOf(value) === "list") give({ never: "a list" })
    else if (kindOf(value) === "boolean") {
      give({ values: nullable.has(operator) ? [true, false, null] : [true, false], told: true })
    }
  }
}

const shown = (value: Single) => JSON.stringify(typeof value === "string" ? shortened(value) : String(value))

const problemOf = (outcome: Outcome, variants: ReadonlySet<string>): string | undefined => {
  const segment = outcome.segment === undefined ? undefined : `the segment ${shown(outcome.segment)}`
  if ("never" in outcome) return `Expected a variant: ${segment ?? "this"} gives ${outcome.never}`
  const missing = outcome.values.filter((value) => value !== null && !variants.has(String(value)))
  if (missing.length === 0) return undefined
  const names = missing.map(shown).join(" and ")
  const none = missing.length === 1 ? `there is no variant ${names}` : `there are no variants ${names}`
  if (!outcome.told && segment === undefined) return `T${none.slice(1)}`
  const gives = `${segment === undefined ? "This" : `T${segment.slice(1)}`} can give ${missing.join(" and ")}`
  return `${gives}, and ${none}: choose with {"if": [<this>, "<variant>", "<variant>"]}`
}

const kept = new WeakMap<FlagSegmentsInlined, Outcomes>()

/**
 * Outcomes that are no variant, of a rule that is good in itself: a literal, true or false of an operator, a list.
 * All branches count, whatever their conditions. What only the context decides (`var`, `cat`, numbers) is not judged.
 */
export const outcomeProblems = (
  rule: unknown,
  segments: FlagSegmentsInlined,
  variants: ReadonlySet<string>
): ReadonlyArray<FlagProblem> => {
  const outcomes = kept.get(segments) ?? new Outcomes(segments)
  kept.set(segments, outcomes)
  const problems: Array<FlagProblem> = []
  outcomes.walk(rule, [], "any", (path, outcome) => {
    const problem = problemOf(outcome, variants)
    if (problem !== undefined) problems.push({ path, problem })
  })
  return problems
}
