import { type Environment, environments, type Flag, type JsonObject } from "./queries.ts"

/** A flag as its history records it. */
export interface Version {
  readonly description: string | null
  readonly variants: JsonObject
  readonly environments: Readonly<Record<Environment, Configuration>>
}
interface Configuration {
  readonly state: "ENABLED" | "DISABLED"
  readonly targeting: JsonObject
  readonly defaultVariant: string
}

export const configurationOf = ({ defaultVariant, state, targeting }: Configuration): Configuration => ({
  state,
  defaultVariant,
  targeting
})

/** The parts of a flag that can be changed, in one order, so that two can be compared. */
export const versionOf = ({ description, environments, variants }: Version): Version => ({
  description,
  variants,
  environments: {
    dev: configurationOf(environments.dev),
    staging: configurationOf(environments.staging),
    production: configurationOf(environments.production)
  }
})

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

export interface Step {
  readonly environment: Environment
  readonly payload: Configuration & { readonly description: string | null; readonly variants: JsonObject }
}

/**
 * The requests that make a flag what it was. Each changes one environment, so all but the last keep the variants of
 * both, which the rules of the other environments may still name.
 */
export const restoreSteps = (now: Flag, version: Version): ReadonlyArray<Step> => {
  const target = versionOf(version)
  const differ = environments.filter(
    (name) => !same(configurationOf(now.environments[name]), target.environments[name])
  )
  const shared = !same([now.description, now.variants], [target.description, target.variants])
  const touched = differ.length === 0 && shared ? (["production"] as const) : differ
  return touched.map((environment, at) => ({
    environment,
    payload: {
      ...target.environments[environment],
      description: target.description,
      variants: at === touched.length - 1 ? target.variants : { ...now.variants, ...target.variants }
    }
  }))
}
