import { Schema } from "effect"

/** The environments of feature flags (spec: Feature flag). Each keeps its own state, rules and default variant. */
export const flagEnvironments = ["dev", "staging", "production"] as const
export const FlagEnvironment = Schema.Literals(flagEnvironments)
export type FlagEnvironment = typeof FlagEnvironment.Type

/** The selected environment; "none" for an unknown one; or why the selector is invalid. */
export type FlagSelection = FlagEnvironment | "none" | { readonly problem: string }

/**
 * Parses the header or metadata `Flagd-Selector`: `flagSetId=<environment>`, `source=<environment>` or `<environment>`.
 * Without one, or with an empty one, it is the default environment.
 */
export const selectFlags = (selector: string | undefined, defaultEnvironment: FlagEnvironment): FlagSelection => {
  if (selector === undefined || selector === "") return defaultEnvironment
  const at = selector.indexOf("=")
  const key = at === -1 ? "source" : selector.slice(0, at)
  if (key !== "flagSetId" && key !== "source")
    return { problem: `invalid selector key ${JSON.stringify(key)}, valid keys: "flagSetId", "source"` }
  const name = selector.slice(at + 1)
  return flagEnvironments.find((environment) => environment === name) ?? "none"
}
