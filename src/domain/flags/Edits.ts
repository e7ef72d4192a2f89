import { isDeepStrictEqual } from "node:util"
import { type JsonObject, isJsonObject } from "../text/JsonObject.ts"
import { type FlagEnvironment, flagEnvironments } from "./Environment.ts"
import { type FlagChange, type FlagConfiguration, type FlagPromotion, type FlagType, type NewFlag } from "./Flag.ts"
import { type JsonPath } from "./Json.ts"
import { type FlagProblem } from "./Problem.ts"
import { type FlagSegmentChange, type NewFlagSegment, segmentKeyOf } from "./Segment.ts"
import { segmentsUsedBy } from "./SegmentsInlined.ts"
import { literalOutcomes } from "./rules/Outcomes.ts"

/** New names of variants by their old names. */
export type VariantRenames = ReadonlyMap<string, string>

/**
 * The variants that a change renames: a name is removed, one is added with the same value, and no other removed or added
 * variant has that value.
 */
export const renamedVariants = (before: JsonObject, after: JsonObject): VariantRenames => {
  const added = namesByValue(after, before)
  const renames = new Map<string, string>()
  for (const [value, [old, ...others]] of namesByValue(before, after)) {
    const [name, ...rest] = added.get(value) ?? []
    if (old !== undefined && name !== undefined && others.length + rest.length === 0) renames.set(old, name)
  }
  return renames
}

/** The variants that are not among the others, by the JSON of their values. */
const namesByValue = (variants: JsonObject, others: JsonObject): ReadonlyMap<string, ReadonlyArray<string>> =>
  Map.groupBy(
    Object.keys(variants).filter((name) => !Object.hasOwn(others, name)),
    (name) => JSON.stringify(variants[name])
  )

/** Replaces the value at the path. An operator's only argument may stand without a list, which its path still counts. */
const replaceAt = (rule: JsonObject, path: JsonPath, replacement: string) => {
  let owner: Record<string | number, unknown> = rule as Record<string, unknown>
  for (const [index, part] of path.entries()) {
    const next = owner[part]
    const isLast = typeof next !== "object" || next === null
    if (isLast && index >= path.length - 2) owner[part] = replacement
    if (isLast) return
    owner = next as Record<string | number, unknown>
  }
}

/** The configuration with the new names where it names variants: as the default, and as literal results of its rule. */
export const withRenames = (configuration: FlagConfiguration, renames: VariantRenames): FlagConfiguration => {
  if (renames.size === 0) return configuration
  const { defaultVariant, state, targeting } = configuration
  const rule = structuredClone(targeting)
  for (const { path, value } of literalOutcomes(targeting)) {
    const name = renames.get(value)
    if (name !== undefined) replaceAt(rule, path, name)
  }
  return { state, targeting: rule, defaultVariant: renames.get(defaultVariant) ?? defaultVariant }
}

/** A flag as it is stored and recorded in its history. */
export interface StoredFlag {
  readonly key: string
  readonly type: FlagType
  readonly description: string | null
  readonly variants: JsonObject
  readonly environments: Readonly<Record<FlagEnvironment, FlagConfiguration>>
}

export const createdFlag = (flag: NewFlag): StoredFlag => {
  const { defaultVariant, description = null, key, state = "ENABLED", targeting = {}, type, variants } = flag
  const each: FlagConfiguration = { state, targeting, defaultVariant }
  return { key, type, description, variants, environments: { dev: each, staging: each, production: each } }
}

const withEnvironment = (
  flag: StoredFlag,
  environment: FlagEnvironment,
  configuration: FlagConfiguration
): StoredFlag => ({ ...flag, environments: { ...flag.environments, [environment]: configuration } })

/** The flag with other variants. Where it names a variant that is renamed, in any environment, it names the new one. */
const withVariants = (flag: StoredFlag, variants: JsonObject): StoredFlag => {
  const renames = renamedVariants(flag.variants, variants)
  const { dev, production, staging } = flag.environments
  const renamed = (configuration: FlagConfiguration) => withRenames(configuration, renames)
  const environments = { dev: renamed(dev), staging: renamed(staging), production: renamed(production) }
  return { ...flag, variants, environments }
}

export const changedFlag = (stored: StoredFlag, change: FlagChange, environment: FlagEnvironment): StoredFlag => {
  const flag = withVariants(stored, change.variants ?? stored.variants)
  const before = flag.environments[environment]
  const { description = flag.description } = change
  const { state = before.state, targeting = before.targeting, defaultVariant = before.defaultVariant } = change
  return withEnvironment({ ...flag, description }, environment, { state, targeting, defaultVariant })
}

export const toggledFlag = (flag: StoredFlag, environment: FlagEnvironment): StoredFlag => {
  const before = flag.environments[environment]
  return withEnvironment(flag, environment, { ...before, state: before.state === "ENABLED" ? "DISABLED" : "ENABLED" })
}

export const promotedFlag = (flag: StoredFlag, { from, to }: FlagPromotion): StoredFlag =>
  withEnvironment(flag, to, flag.environments[from])

/** Fields of a change that can't be changed and differ from the stored flag. */
export const unchangeableProblems = (flag: StoredFlag, change: FlagChange): ReadonlyArray<FlagProblem> => {
  const problems: Array<FlagProblem> = []
  if (change.key !== undefined && change.key !== flag.key) {
    problems.push({ path: ["key"], problem: "Expected the flag's key: keys can't be changed" })
  }
  if (change.type !== undefined && change.type !== flag.type) {
    problems.push({ path: ["type"], problem: `Expected ${flag.type}: types can't be changed` })
  }
  const renamed = withVariants(flag, change.variants ?? flag.variants)
  for (const [environment, given] of Object.entries(change.environments ?? {})) {
    if (isRepeated(flag, environment, given) || isRepeated(renamed, environment, given)) continue
    const problem =
      "Expected the stored configuration: change `state`, `targeting` and `defaultVariant` of one environment at a time"
    problems.push({ path: ["environments", environment], problem })
  }
  return problems
}

const isRepeated = (flag: StoredFlag, environment: string, given: unknown) => {
  if (!isEnvironment(environment) || !isJsonObject(given)) return false
  const stored = flag.environments[environment]
  return (["state", "targeting", "defaultVariant"] as const).every(
    (name) => !Object.hasOwn(given, name) || isDeepStrictEqual(given[name], stored[name])
  )
}

const isEnvironment = (text: string): text is FlagEnvironment => flagEnvironments.some((name) => name === text)

/** Whether two documents are equal, including the order of their names, which is stored too. */
const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

export const isSameFlag = (a: StoredFlag, b: StoredFlag) =>
  a.description === b.description && touchedEnvironments(a, b).length === 0

/** The environments in which the two flags are evaluated differently. */
export const touchedEnvironments = (a: StoredFlag, b: StoredFlag): ReadonlyArray<FlagEnvironment> =>
  isSame(a.variants, b.variants)
    ? flagEnvironments.filter((environment) => !isSame(a.environments[environment], b.environments[environment]))
    : flagEnvironments

/** Keys of the segments that the rules of the flag refer to directly. */
export const segmentsOfFlag = (flag: StoredFlag): ReadonlyArray<string> =>
  Array.from(
    new Set(flagEnvironments.flatMap((environment) => segmentsUsedBy(flag.environments[environment].targeting)))
  )

/** A segment as it is stored and recorded in its history. */
export interface StoredSegment {
  readonly key: string
  readonly name: string
  readonly description: string | null
  readonly rules: JsonObject
}

export const createdSegment = (given: NewFlagSegment): StoredSegment => {
  const { description = null, name = "", rules } = given
  return { key: segmentKeyOf(given), name, description, rules }
}

export const changedSegment = (segment: StoredSegment, change: FlagSegmentChange): StoredSegment => {
  const { description = segment.description, name = segment.name, rules = segment.rules } = change
  return { key: segment.key, name, description, rules }
}

/** Fields of a change that can't be changed and differ from the stored segment. */
export const unchangeableSegmentProblems = (
  segment: StoredSegment,
  change: FlagSegmentChange
): ReadonlyArray<FlagProblem> =>
  (["key", "segmentKey"] as const)
    .filter((name) => change[name] !== undefined && change[name] !== segment.key)
    .map((name) => ({ path: [name], problem: "Expected the segment's key: keys can't be changed" }))

/** The environments in which the flag refers to one of these segments. */
export const environmentsUsing = (
  flag: Pick<StoredFlag, "environments">,
  segments: ReadonlySet<string>
): ReadonlyArray<FlagEnvironment> =>
  flagEnvironments.filter((environment) =>
    segmentsUsedBy(flag.environments[environment].targeting).some((key) => segments.has(key))
  )
