import { type FlagHashing } from "../logic/Scope.ts"
import { type FlagDefinition } from "../Evaluation.ts"
import { type FlagEnvironment, flagEnvironments } from "../Environment.ts"
import { inlineSegments, segmentsUsedBy } from "../SegmentsInlined.ts"
import { CompiledFlag } from "./Set.ts"
import { type JsonObject } from "../../text/JsonObject.ts"

/** A stored flag as JSON texts, which can be compared without parsing. */
export interface FlagRow {
  readonly key: string
  readonly variants: string
  /** `{state, targeting, defaultVariant}` of each environment. */
  readonly environments: Readonly<Record<FlagEnvironment, string>>
}

/** A flag of a snapshot. */
export interface LoadedFlag extends FlagRow {
  readonly compiled: Readonly<Record<FlagEnvironment, CompiledFlag>>
  /** Segments that the rule of each environment refers to directly. */
  readonly uses: Readonly<Record<FlagEnvironment, ReadonlyArray<string>>>
}

interface Stored {
  readonly state: FlagDefinition["state"]
  readonly targeting: unknown
  readonly defaultVariant: string
}

const none: ReadonlyArray<string> = []

export const perEnvironment = <A>(make: (environment: FlagEnvironment) => A): Record<FlagEnvironment, A> => ({
  dev: make("dev"),
  staging: make("staging"),
  production: make("production")
})

/** A rule written past the API may be invalid: it stays as it is, and only its own evaluations fail. */
const inlined = (rule: unknown, segments: ReadonlyMap<string, JsonObject>) => {
  try {
    return inlineSegments(rule, segments)
  } catch {
    return rule
  }
}

/** Keys of the segments that a rule refers to directly; `text` is its JSON. */
export const segmentsIn = (text: string, rule: unknown) => (text.includes('"$ref"') ? segmentsUsedBy(rule) : none)

/** Compiles what changed: returns `loaded` itself if nothing did, and reuses its flag in each unchanged environment. */
export const compileFlag = (
  row: FlagRow,
  loaded: LoadedFlag | undefined,
  changed: ReadonlySet<string>,
  segments: ReadonlyMap<string, JsonObject>,
  hashing: FlagHashing
): LoadedFlag => {
  const sameVariants = loaded?.variants === row.variants
  const isSame = (environment: FlagEnvironment) =>
    sameVariants &&
    loaded.environments[environment] === row.environments[environment] &&
    !loaded.uses[environment].some((key) => changed.has(key))
  if (loaded !== undefined && flagEnvironments.every(isSame)) return loaded

  const variants = JSON.parse(row.variants) as Readonly<Record<string, unknown>>
  // Environments often have the same text, which is then parsed once.
  const parsed = new Map<string, { readonly definition: FlagDefinition; readonly uses: ReadonlyArray<string> }>()
  const made = (environment: FlagEnvironment) => {
    const text = row.environments[environment]
    const known = parsed.get(text)
    if (known !== undefined) return known
    const { defaultVariant, state, targeting } = JSON.parse(text) as Stored
    const uses = segmentsIn(text, targeting)
    const definition: FlagDefinition = {
      key: row.key,
      state,
      variants,
      defaultVariant,
      targeting: uses.length === 0 ? targeting : inlined(targeting, segments)
    }
    parsed.set(text, { definition, uses })
    return { definition, uses }
  }
  const compiled = perEnvironment((environment) => {
    const before = loaded?.compiled[environment]
    if (before !== undefined && isSame(environment)) return before
    const flag = new CompiledFlag(made(environment).definition, hashing)
    if (before !== undefined) flag.evaluatedAt = before.evaluatedAt
    return flag
  })
  const uses = perEnvironment((environment) =>
    loaded !== undefined && isSame(environment) ? loaded.uses[environment] : made(environment).uses
  )
  return { key: row.key, variants: row.variants, environments: row.environments, compiled, uses }
}
