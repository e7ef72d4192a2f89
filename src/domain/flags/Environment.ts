import { Schema } from "effect"

/** The environments of feature flags (spec: Feature flag). Each keeps its own state, rules and default variant. */
export const flagEnvironments = ["dev", "staging", "production"] as const
export const FlagEnvironment = Schema.Literals(flagEnvironments)
export type FlagEnvironment = typeof FlagEnvironment.Type
