import { type FlagConfiguration } from "./Flag.ts"
import { type JsonPath } from "./Json.ts"
import { literalOutcomes } from "./rules/Outcomes.ts"
import { type JsonObject } from "../text/JsonObject.ts"

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
