import { Schema } from "effect"

/** The environments of feature flags (spec: Feature flag). Each keeps its own state, rules and default variant. */
export const flagEnvironments = ["dev", "staging", "production"] as const
export const FlagEnvironment = Schema.Literals(flagEnvironments)
export type FlagEnvironment = typeof FlagEnvironment.Type

/** An environment, none at all (a selector of flags that we don't have), or why the selector is wrong. */
export type FlagSelection = FlagEnvironment | "none" | { readonly problem: string }

/**
 * What the header or metadata `Flagd-Selector` asks for: `flagSetId=<environment>`, `source=<environment>` or only
 * `<environment>`. None or an empty one is the environment meant otherwise.
 */
export const selectFlags = (selector: string | undefined, otherwise: FlagEnvironment): FlagSelection => {
  if (selector === undefined || selector === "") return otherwise
  const at = selector.indexOf("=")
  const key = at === -1 ? "source" : selector.slice(0, at)
  if (key !== "flagSetId" && key !== "source")
    return { problem: `invalid selector key ${JSON.stringify(key)}, valid keys: "flagSetId", "source"` }
  const wanted = selector.slice(at + 1)
  return flagEnvironments.find((environment) => environment === wanted) ?? "none"
}
