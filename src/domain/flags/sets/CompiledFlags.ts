import { type FlagHashing } from "../logic/Scope.ts"
import { type FlagDefinition } from "../Evaluation.ts"
import { type FlagEnvironment, flagEnvironments } from "../Environment.ts"
import { inlineSegments, segmentsUsedBy } from "../SegmentsInlined.ts"
import { CompiledFlag } from "./Set.ts"
import { type JsonObject } from "../../text/JsonObject.ts"

/** A flag as it is stored: JSON texts, so that what did not change needs no parsing to be recognised. */
export interface FlagRow {
  readonly key: string
  readonly variants: string
  /** `{state, targeting, defaultVariant}` of each environment. */
  readonly environments: Readonly<Record<FlagEnvironment, string>>
}

/** A flag as a snapshot has it. */
export interface HeldFlag extends FlagRow {
  readonly compiled: Readonly<Record<FlagEnvironment, CompiledFlag>>
  /** Segments that each environment's rule refers to itself. */
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

/** What we did not write ourselves may be anything: then it stays a rule that fails when it is evaluated, alone. */
const inlined = (rule: unknown, segments: ReadonlyMap<string, JsonObject>) => {
  try {
    return inlineSegments(rule, segments)
  } catch {
    return rule
  }
}

/** Keys of the segments that a rule, of which this is the text, refers to itself. */
export const segmentsIn = (text: string, rule: unknown) => (text.includes('"$ref"') ? segmentsUsedBy(rule) : none)

/** `held` itself when nothing of it changed; of each environment where nothing did, the compiled flag it has. */
export const compileFlag = (
  row: FlagRow,
  held: HeldFlag | undefined,
  changed: ReadonlySet<string>,
  segments: ReadonlyMap<string, JsonObject>,
  hashing: FlagHashing
): HeldFlag => {
  const sameVariants = held?.variants === row.variants
  const isSame = (environment: FlagEnvironment) =>
    sameVariants &&
    held.environments[environment] === row.environments[environment] &&
    !held.uses[environment].some((key) => changed.has(key))
  if (held !== undefined && flagEnvironments.every(isSame)) return held

  const variants = JSON.parse(row.variants) as Readonly<Record<string, unknown>>
  // Environments are often alike: what has the same text is parsed once.
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
    const before = held?.compiled[environment]
    if (before !== undefined && isSame(environment)) return before
    const flag = new CompiledFlag(made(environment).definition, hashing)
    if (before !== undefined) flag.evaluatedAt = before.evaluatedAt
    return flag
  })
  const uses = perEnvironment((environment) =>
    held !== undefined && isSame(environment) ? held.uses[environment] : made(environment).uses
  )
  return { key: row.key, variants: row.variants, environments: row.environments, compiled, uses }
}
