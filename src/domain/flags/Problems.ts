import { type FlagConfiguration, type FlagType } from "./Flag.ts"
import { type FlagEnvironment, flagEnvironments } from "./Environment.ts"
import { type FlagProblem, shortened } from "./Problem.ts"
import { inlinedProblems, ruleProblems } from "./rules/Rule.ts"
import { type FlagSegmentsInlined, segmentsInlined } from "./SegmentsInlined.ts"
import { type JsonObject, isJsonObject } from "../text/JsonObject.ts"
import { jsonProblems } from "./Json.ts"

const maxVariants = 100

/** protobuf readers accept 100 nested messages, and a level of JSON takes three. */
const variantLimits = { depth: 32, nodes: 10_000, stored: true }

const isOf: Readonly<Record<FlagType, (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  object: isJsonObject
}

const nameFault = (name: string): string | undefined => {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name)) {
    return "Expected a name of 1–64 letters, digits, `.`, `_` and `-`"
  }
  return name === "__proto__" ? "Expected another name" : undefined
}

/** Problems of the variants of a flag of this type: 1–100 values by name. */
const variantProblems = (type: FlagType, variants: JsonObject): ReadonlyArray<FlagProblem> => {
  const given = Object.entries(variants)
  if (given.length === 0 || given.length > maxVariants) {
    return [{ path: [], problem: `Expected 1–${maxVariants} variants, not ${given.length}` }]
  }
  return given.flatMap(([name, value]) => {
    const fault = nameFault(name) ?? (isOf[type](value) ? undefined : `Expected ${type}, the flag's type`)
    if (fault !== undefined) return [{ path: [name], problem: fault }]
    return jsonProblems(value, variantLimits).map(({ path, problem }) => ({ path: [name, ...path], problem }))
  })
}

/** The part of a flag that is checked. */
interface CheckedFlag {
  readonly type: FlagType
  readonly variants: JsonObject
  readonly environments: Readonly<Record<FlagEnvironment, FlagConfiguration>>
}

/** Rules by segment key. The map must not change afterwards. */
type SegmentRules = ReadonlyMap<string, unknown>

/** Of the variants and the configuration of one environment, which is what an engine loads of a flag. */
const maxBytes = 256 * 1024

const under = (path: FlagProblem["path"], problems: ReadonlyArray<FlagProblem>): ReadonlyArray<FlagProblem> =>
  problems.map((each) => ({ path: [...path, ...each.path], problem: each.problem }))

const configurationProblems = (
  { defaultVariant, targeting }: FlagConfiguration,
  variants: ReadonlySet<string>,
  segments: FlagSegmentsInlined
): ReadonlyArray<FlagProblem> => {
  const problems = under(["targeting"], ruleProblems(targeting, segments, { variants }))
  if (variants.has(defaultVariant)) return problems
  const problem = `There is no variant ${JSON.stringify(shortened(defaultVariant))}`
  return [{ path: ["defaultVariant"], problem }, ...problems]
}

/**
 * All problems of a flag with these segments. Paths are those of the record, without `environments.<name>` for the
 * selected environment and for a configuration that all three share.
 */
export const flagProblems = (
  flag: CheckedFlag,
  segments: SegmentRules,
  selected?: FlagEnvironment
): ReadonlyArray<FlagProblem> => {
  const problems = under(["variants"], variantProblems(flag.type, flag.variants))
  // Invalid variants would cause a further problem in each rule.
  if (problems.length > 0) return problems
  const names = new Set(Object.keys(flag.variants))
  const inlined = segmentsInlined(segments)
  const { dev, production, staging } = flag.environments
  const found =
    dev === staging && staging === production
      ? configurationProblems(dev, names, inlined)
      : flagEnvironments.flatMap((environment) =>
          under(
            environment === selected ? [] : ["environments", environment],
            configurationProblems(flag.environments[environment], names, inlined)
          )
        )
  if (found.length > 0) return found
  const bytes = Math.max(
    ...Object.values(flag.environments).map((configuration) =>
      Buffer.byteLength(JSON.stringify({ variants: flag.variants, ...configuration }), "utf8")
    )
  )
  return bytes <= maxBytes
    ? []
    : [
        {
          path: [],
          problem: `Expected variants and a rule of at most ${maxBytes / 1024} KiB as JSON, not ${Math.ceil(bytes / 1024)}`
        }
      ]
}

/**
 * All problems of a segment with this rule: those of the rule (`rules.…`), and segments that use it, directly or not, and
 * would become too large (`segments.<key>.rules`). `segments` are all stored ones. The caller checks the flags that use
 * it by `flagProblems`, with the new rule among the segments.
 */
export const segmentProblems = (key: string, rules: JsonObject, segments: SegmentRules): ReadonlyArray<FlagProblem> => {
  const inlined = segmentsInlined(new Map(segments).set(key, rules))
  const problems = ruleProblems(rules, inlined, { segment: key })
  if (problems.length > 0) return under(["rules"], problems)
  return Array.from(inlined.usersOf(key), (user) =>
    under(["segments", user, "rules"], inlinedProblems(inlined.rules.get(user), inlined))
  ).flat()
}
