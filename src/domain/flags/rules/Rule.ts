import { jsonProblems, type JsonPath } from "../Json.ts"
import { type FlagProblem, shortened } from "../Problem.ts"
import { type FlagSegmentsInlined } from "../SegmentsInlined.ts"
import { bucketsIn, fractionalProblems } from "./Fractional.ts"
import { countFault, ruleOperators } from "./Operators.ts"
import { outcomeProblems } from "./Outcomes.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** Of one rule as it is written. */
const own = { depth: 64, nodes: 10_000, stored: true }

/** Of a rule with its segments in their places, and of segments within segments. */
const inlined = { nodes: 50_000, bytes: 256 * 1024, depth: 256, segments: 32 }

class RuleCheck {
  readonly #segments: FlagSegmentsInlined
  readonly problems: Array<FlagProblem> = []

  constructor(segments: FlagSegmentsInlined) {
    this.#segments = segments
  }

  /** `inner`: evaluated with an element of a list for its context. */
  value(value: unknown, path: JsonPath, inner: boolean): void {
    if (Array.isArray(value)) {
      for (const [index, element] of value.entries()) this.value(element, [...path, index], inner)
    } else if (isJsonObject(value)) this.#operation(value, path, inner)
  }

  #operation(value: Readonly<Record<string, unknown>>, path: JsonPath, inner: boolean) {
    const names = Object.keys(value)
    const [name] = names
    if (name === undefined) return this.#add(path, "Expected an operator: {} can only be all of a rule")
    if (names.length > 1) {
      const written = names.slice(0, 3).map((each) => JSON.stringify(shortened(each)))
      return this.#add(path, `Expected one operator, not ${names.length}: ${written.join(", ")}`)
    }
    const operand = value[name]
    const at = [...path, name]
    if (name === "$ref") return this.#reference(operand, at)
    if (name === "fractional") return this.#fractional(operand, at, inner)
    const operator = ruleOperators.get(name)
    if (operator === undefined) {
      const hint = name === "?:" ? "; use if" : ""
      return this.#add(at, `There is no operator ${JSON.stringify(shortened(name))}${hint}`)
    }
    if (!Array.isArray(operand)) {
      const fault = operator.lone === undefined ? "Expected a list of arguments" : operator.lone(operand)
      if (fault !== undefined) this.#add(at, fault)
      return this.value(operand, at, inner)
    }
    const miscounted = countFault(operator, operand.length)
    if (miscounted !== undefined) return this.#add(at, miscounted)
    for (const [index, argument] of operand.entries()) {
      const fault = (operator.given[index] ?? operator.given.at(-1))?.(argument)
      if (fault !== undefined) this.#add([...at, index], fault)
      this.value(argument, [...at, index], inner || operator.inner === index)
    }
    this.#addAll(at, operator.together?.(operand) ?? [])
  }

  #reference(key: unknown, path: JsonPath) {
    if (typeof key !== "string") this.#add(path, "Expected the key of a segment")
    else if (!this.#segments.rules.has(key)) this.#add(path, `There is no segment ${JSON.stringify(shortened(key))}`)
  }

  #fractional(operand: unknown, path: JsonPath, inner: boolean) {
    if (inner) return this.#add(path, "Expected no fractional here: elements of a list have no buckets")
    this.#addAll(path, fractionalProblems(operand))
    const { buckets, from } = bucketsIn(operand)
    if (from === 1) this.value((operand as ReadonlyArray<unknown>)[0], [...path, 0], inner)
    for (const [index, bucket] of buckets.entries()) {
      const at = [...path, from + index]
      if (Array.isArray(bucket)) this.value(bucket[0], [...at, 0], inner)
      else this.value(bucket, at, inner)
    }
  }

  #add(path: JsonPath, problem: string) {
    this.problems.push({ path, problem })
  }

  #addAll(path: JsonPath, problems: ReadonlyArray<FlagProblem>) {
    for (const each of problems) this.#add([...path, ...each.path], each.problem)
  }
}

/**
 * Why a rule is too large with its segments in their places, or refers to segments that lead in a ring; `segment` when
 * it is the rule of that one.
 */
export const inlinedProblems = (
  rule: unknown,
  segments: FlagSegmentsInlined,
  segment?: string
): ReadonlyArray<FlagProblem> => {
  const cycle = segments.cycleFrom(segment === undefined ? rule : { $ref: segment })
  if (cycle !== undefined) {
    const shown = cycle.length > 12 ? [...cycle.slice(0, 10), "…", cycle.at(-1)] : cycle
    return [{ path: [], problem: `Expected no segments that refer to each other in a ring: ${shown.join(" → ")}` }]
  }
  const size = segments.sizeOf(rule)
  const excess =
    size.segments > inlined.segments
      ? `${inlined.segments} segments within each other, not ${size.segments}`
      : size.depth > inlined.depth
        ? `${inlined.depth} levels of nesting with the segments, not ${size.depth}`
        : size.nodes > inlined.nodes
          ? `${inlined.nodes} values with the segments, not ${size.nodes}`
          : size.bytes > inlined.bytes
            ? `${inlined.bytes / 1024} KiB with the segments, not ${Math.ceil(size.bytes / 1024)}`
            : undefined
  return excess === undefined ? [] : [{ path: [], problem: `Expected at most ${excess}` }]
}

/** Whose rule it is: a flag's, which chooses from these variants, or that of the segment of this key. */
type RuleOwner = { readonly variants: ReadonlySet<string> } | { readonly segment: string }

/**
 * Every reason why a rule (JsonLogic; `{}`: none) can't be taken, with its path inside the rule. `segments` have good
 * rules themselves, but for the one that is being changed: references in a ring are found here.
 */
export const ruleProblems = (
  rule: unknown,
  segments: FlagSegmentsInlined,
  owner: RuleOwner
): ReadonlyArray<FlagProblem> => {
  const form = jsonProblems(rule, own)
  if (form.length > 0) return form
  if (!isJsonObject(rule)) return [{ path: [], problem: "Expected object" }]
  if (Object.keys(rule).length === 0) return []
  const check = new RuleCheck(segments)
  check.value(rule, [], false)
  if (check.problems.length > 0) return check.problems
  if ("segment" in owner) return inlinedProblems(rule, segments, owner.segment)
  const size = inlinedProblems(rule, segments)
  return size.length > 0 ? size : outcomeProblems(rule, segments, owner.variants)
}
