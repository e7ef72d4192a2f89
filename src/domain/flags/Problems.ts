import { type FlagConfiguration, type FlagType } from "./Flag.ts"
import { type FlagEnvironment, flagEnvironments } from "./Environment.ts"
import { type FlagProblem, shortened } from "./Problem.ts"
import { inlinedProblems, ruleProblems } from "./rules/Rule.ts"
import { type FlagSegmentsInlined, segmentsInlined } from "./SegmentsInlined.ts"
import { type JsonObject, isJsonObject } from "../text/JsonObject.ts"
import { jsonProblems } from "./Json.ts"

const most = 100

/** protobuf readers stop at 100 messages within each other; a level of JSON takes three. */
const limits = { depth: 32, nodes: 10_000, stored: true }

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

/** What is wrong with the variants of a flag of this type: name and value, 1–100 of them. */
const variantProblems = (type: FlagType, variants: JsonObject): ReadonlyArray<FlagProblem> => {
  const given = Object.entries(variants)
  if (given.length === 0 || given.length > most) {
    return [{ path: [], problem: `Expected 1–${most} variants, not ${given.length}` }]
  }
  return given.flatMap(([name, value]) => {
    const fault = nameFault(name) ?? (isOf[type](value) ? undefined : `Expected ${type}, the flag's type`)
    if (fault !== undefined) return [{ path: [name], problem: fault }]
    return jsonProblems(value, limits).map(({ path, problem }) => ({ path: [name, ...path], problem }))
  })
}

/** The part of a flag that can be wrong. */
interface CheckedFlag {
  readonly type: FlagType
  readonly variants: JsonObject
  readonly environments: Readonly<Record<FlagEnvironment, FlagConfiguration>>
}

/** Rules by segment key. A map that was given must not change afterwards. */
type SegmentRules = ReadonlyMap<string, unknown>

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
 * Every reason why a flag can't be taken beside these segments. Paths are those of the record; without
 * `environments.<name>` where it is the selected environment, or the same in all three.
 */
export const flagProblems = (
  flag: CheckedFlag,
  segments: SegmentRules,
  selected?: FlagEnvironment
): ReadonlyArray<FlagProblem> => {
  const problems = under(["variants"], variantProblems(flag.type, flag.variants))
  // Without good variants each rule would be wrong for that alone.
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
  const bytes = Buffer.byteLength(JSON.stringify({ variants: flag.variants, environments: flag.environments }), "utf8")
  return bytes <= maxBytes
    ? []
    : [
        {
          path: [],
          problem: `Expected a flag of at most ${maxBytes / 1024} KiB as JSON, not ${Math.ceil(bytes / 1024)}`
        }
      ]
}

/**
 * Every reason why a segment can't have this rule: what is wrong with it (`rules.…`), and segments that use it,
 * themselves or through others, which would become too large by it (`segments.<key>.rules`). `segments` are all that
 * are stored. Flags that use it are to be checked by `flagProblems` with the new rule among the segments.
 */
export const segmentProblems = (key: string, rules: JsonObject, segments: SegmentRules): ReadonlyArray<FlagProblem> => {
  const inlined = segmentsInlined(new Map(segments).set(key, rules))
  const problems = ruleProblems(rules, inlined, { segment: key })
  if (problems.length > 0) return under(["rules"], problems)
  return Array.from(inlined.usersOf(key), (user) =>
    under(["segments", user, "rules"], inlinedProblems(inlined.rules.get(user), inlined))
  ).flat()
}
