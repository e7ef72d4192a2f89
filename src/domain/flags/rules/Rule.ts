import { jsonProblems, type JsonPath } from "../Json.ts"
import { type FlagProblem, shortened } from "../Problem.ts"
import { type FlagSegmentsInlined } from "../SegmentsInlined.ts"
import { bucketsIn, fractionalProblems } from "./Fractional.ts"
import { countFault, ruleOperators } from "./Operators.ts"
import { outcomeProblems } from "./Outcomes.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** Limits of one rule as written. */
const own = { depth: 64, nodes: 10_000, stored: true }

/** Limits of a rule with its segments inlined, and of nested segments. */
const inlined = { nodes: 50_000, bytes: 256 * 1024, depth: 256, segments: 32 }

class RuleCheck {
  readonly #segments: FlagSegmentsInlined
  readonly problems: Array<FlagProblem> = []

  constructor(segments: FlagSegmentsInlined) {
    this.#segments = segments
  }

  /** `inner`: evaluated with an element of a list as its context. */
  value(value: unknown, path: JsonPath, inner: boolean): void {
    if (Array.isArray(value)) {
      for (const [index, element] of value.entries()) this.value(element, [...path, index], inner)
    } else if (isJsonObject(value)) this.#operation(value, path, inner)
  }

  #operation(value: Readonly<Record<string, unknown>>, path: JsonPath, inner: boolean) {
    const names = Object.keys(value)
    const [name] = names
    if (name === undefined) return this.#add(path, "Expected an operator: {} is only valid as a whole rule")
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
      return this.#add(at, `Unknown operator ${JSON.stringify(shortened(name))}${hint}`)
    }
    if (!Array.isArray(operand)) {
      const fault = operator.single === undefined ? "Expected a list of arguments" : operator.single(operand)
      if (fault !== undefined) this.#add(at, fault)
      return this.value(operand, at, inner)
    }
    const miscounted = countFault(operator, operand.length)
    if (miscounted !== undefined) return this.#add(at, miscounted)
    for (const [index, argument] of operand.entries()) {
      const fault = (operator.args[index] ?? operator.args.at(-1))?.(argument)
      if (fault !== undefined) this.#add([...at, index], fault)
      this.value(argument, [...at, index], inner || operator.inner === index)
    }
    this.#addAll(at, operator.combined?.(operand) ?? [])
  }

  #reference(key: unknown, path: JsonPath) {
    if (typeof key !== "string") this.#add(path, "Expected the key of a segment")
    else if (!this.#segments.rules.has(key)) this.#add(path, `There is no segment ${JSON.stringify(shortened(key))}`)
  }

  #fractional(operand: unknown, path: JsonPath, inner: boolean) {
    if (inner) return this.#add(path, "Expected no fractional in the rule of an element: elements have no buckets")
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
 * The problem of a rule that is too large with its segments inlined, or that refers to a cycle of segments. `segment` is
 * given for the rule of a segment.
 */
export const inlinedProblems = (
  rule: unknown,
  segments: FlagSegmentsInlined,
  segment?: string
): ReadonlyArray<FlagProblem> => {
  const cycle = segments.cycleFrom(segment === undefined ? rule : { $ref: segment })
  if (cycle !== undefined) {
    const shown = cycle.length > 12 ? [...cycle.slice(0, 10), "…", cycle.at(-1)] : cycle
    return [{ path: [], problem: `Segments must not reference each other in a cycle: ${shown.join(" → ")}` }]
  }
  const size = segments.sizeOf(rule)
  const excess =
    size.segments > inlined.segments
      ? `${inlined.segments} levels of nested segments, not ${size.segments}`
      : size.depth > inlined.depth
        ? `${inlined.depth} levels of nesting with segments inlined, not ${size.depth}`
        : size.nodes > inlined.nodes
          ? `${inlined.nodes} values with segments inlined, not ${size.nodes}`
          : size.bytes > inlined.bytes
            ? `${inlined.bytes / 1024} KiB with segments inlined, not ${Math.ceil(size.bytes / 1024)}`
            : undefined
  return excess === undefined ? [] : [{ path: [], problem: `Expected at most ${excess}` }]
}

/** The owner of a rule: a flag, which has these variants, or the segment of this key. */
type RuleOwner = { readonly variants: ReadonlySet<string> } | { readonly segment: string }

/**
 * All problems of a rule (JsonLogic; `{}` for none), with paths inside the rule. The rules of `segments` are valid, except
 * that of the one that is being changed, so cycles are possible.
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
