import { type JsonPath } from "../Json.ts"
import { type FlagProblem, shortened } from "../Problem.ts"
import { argumentKindOf, operationIn } from "./Arguments.ts"
import { bucketsIn } from "./Fractional.ts"
import { type FlagSegmentsInlined, segmentsInlined } from "../SegmentsInlined.ts"

type Single = string | number | boolean | null

/**
 * A result of an expression, as far as the rule determines it: one of `values`, literal or computed by an operator, or
 * something that can't be a variant. `segment` is the one whose rule returns it.
 */
type Outcome = (
  | { readonly values: ReadonlyArray<Single>; readonly computed: boolean }
  | { readonly never: "a list" | "the whole context" }
) & { readonly segment?: string }

/** Filters outcomes by their truth: `and` and `or` continue after some and return the others. */
type Filter = "any" | "true" | "false"

type Emit = (path: JsonPath, outcome: Outcome, filter: Filter) => void

/** Operators that return null for arguments of the wrong type. */
const nullable = new Set(["starts_with", "ends_with", "sem_ver"])

const passes = (value: Single, filter: Filter) => filter === "any" || (filter === "true") === Boolean(value)

/** The outcome restricted to the filter; undefined if nothing remains. Lists count as both true and false. */
const narrowed = (outcome: Outcome, filter: Filter): Outcome | undefined => {
  if ("never" in outcome) return filter === "false" && outcome.never === "the whole context" ? undefined : outcome
  const values = outcome.values.filter((value) => passes(value, filter))
  return values.length === 0 ? undefined : { ...outcome, values }
}

class Outcomes {
  readonly #segments: FlagSegmentsInlined
  readonly #known = new Map<string, ReadonlyArray<Outcome>>()

  constructor(segments: FlagSegmentsInlined) {
    this.#segments = segments
  }

  /** The outcomes of a segment, each once. */
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

  walk(value: unknown, path: JsonPath, filter: Filter, emit: Emit): void {
    const report = (outcome: Outcome, at = path) => {
      const left = narrowed(outcome, filter)
      if (left !== undefined) emit(at, left, filter)
    }
    if (Array.isArray(value)) return report({ never: "a list" })
    const [operator, operand] = operationIn(value) ?? []
    if (operator === undefined) return report({ values: [value as Single], computed: false })
    const given: ReadonlyArray<unknown> = Array.isArray(operand) ? operand : [operand]
    const at = [...path, operator]
    const into = (index: number, filter: Filter) => this.walk(given[index], [...at, index], filter, emit)
    if (operator === "if") {
      for (let index = 1; index < given.length; index += 2) into(index, filter)
      if (given.length % 2 === 1) into(given.length - 1, filter)
    } else if (operator === "and" || operator === "or") {
      const ends = operator === "and" ? "false" : "true"
      for (const index of given.keys()) {
        if (index === given.length - 1) into(index, filter)
        else if (filter === "any" || filter === ends) into(index, ends)
      }
    } else if (operator === "fractional") {
      const { buckets, from } = bucketsIn(operand)
      for (const [index, bucket] of buckets.entries()) {
        this.walk(Array.isArray(bucket) ? bucket[0] : bucket, [...at, from + index, 0], filter, emit)
      }
    } else if (operator === "var") {
      if (given.length === 0 || (typeof given[0] === "string" && /^\.*$/.test(given[0])))
        report({ never: "the whole context" })
      else if (given.length === 2) into(1, filter)
    } else if (operator === "$ref") {
      for (const outcome of this.#ofSegment(operand as string)) report({ ...outcome, segment: operand as string }, at)
    } else if (argumentKindOf(value) === "list") report({ never: "a list" })
    else if (argumentKindOf(value) === "boolean") {
      report({ values: nullable.has(operator) ? [true, false, null] : [true, false], computed: true })
    }
  }
}

const shown = (value: Single) => JSON.stringify(typeof value === "string" ? shortened(value) : String(value))

const problemOf = (outcome: Outcome, variants: ReadonlySet<string>): string | undefined => {
  const segment = outcome.segment === undefined ? undefined : `the segment ${shown(outcome.segment)}`
  if ("never" in outcome) return `Expected a variant: ${segment ?? "this"} returns ${outcome.never}`
  const missing = outcome.values.filter((value) => value !== null && !variants.has(String(value)))
  if (missing.length === 0) return undefined
  const names = missing.map(shown).join(" and ")
  const none = missing.length === 1 ? `there is no variant ${names}` : `there are no variants ${names}`
  if (!outcome.computed && segment === undefined) return `T${none.slice(1)}`
  const returns = `${segment === undefined ? "This" : `T${segment.slice(1)}`} can return ${missing.join(" and ")}`
  return `${returns}, and ${none}: choose with {"if": [<this>, "<variant>", "<variant>"]}`
}

const cache = new WeakMap<FlagSegmentsInlined, Outcomes>()

/**
 * Outcomes of a valid rule that are not variants: a literal, true or false of an operator, a list. All branches count,
 * whatever their conditions. Outcomes that depend on the context (`var`, `cat`, numbers) are not checked.
 */
export const outcomeProblems = (
  rule: unknown,
  segments: FlagSegmentsInlined,
  variants: ReadonlySet<string>
): ReadonlyArray<FlagProblem> => {
  const outcomes = cache.get(segments) ?? new Outcomes(segments)
  cache.set(segments, outcomes)
  const problems: Array<FlagProblem> = []
  outcomes.walk(rule, [], "any", (path, outcome) => {
    const problem = problemOf(outcome, variants)
    if (problem !== undefined) problems.push({ path, problem })
  })
  return problems
}

/**
 * The results that stand in a rule as literals and can be replaced by another name without changing what else the rule
 * does, with their paths. A literal whose truth decides is one only if it is true, as names are.
 */
export const literalOutcomes = (rule: unknown): ReadonlyArray<{ readonly path: JsonPath; readonly value: string }> => {
  const found: Array<{ readonly path: JsonPath; readonly value: string }> = []
  new Outcomes(segmentsInlined(new Map())).walk(rule, [], "any", (path, outcome, filter) => {
    if ("never" in outcome || outcome.computed || outcome.segment !== undefined) return
    for (const value of outcome.values) {
      if (value !== null && (filter === "any" || Boolean(value))) found.push({ path, value: String(value) })
    }
  })
  return found
}
