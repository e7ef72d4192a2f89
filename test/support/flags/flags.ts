import { ConfigProvider, Effect, Layer } from "effect"
import { type Author } from "../../../src/domain/Author.ts"
import { type NewFlag } from "../../../src/domain/flags/Flag.ts"
import { type FlagEnvironment } from "../../../src/domain/flags/Environment.ts"
import { layerFlagEngineEmbedded } from "../../../src/layers/flags/engine/Embedded.ts"
import { FlagEvaluations } from "../../../src/services/flags/Evaluations.ts"
import { FlagHistory } from "../../../src/services/flags/History.ts"
import { Flags } from "../../../src/services/flags/Flags.ts"
import { FlagSegments } from "../../../src/services/flags/Segments.ts"
import { FlagSets } from "../../../src/services/flags/Sets.ts"
import { FlagSettings } from "../../../src/services/flags/Settings.ts"
import { FlagWriter } from "../../../src/services/flags/Writer.ts"
import { type DatabaseOptions, layerDatabase, Outside } from "../database.ts"

const settingsOf = (env: Readonly<Record<string, string>> = {}) =>
  FlagSettings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...env }))), Layer.orDie)

const parts = Layer.mergeAll(Flags.layer, FlagSegments.layer, FlagHistory.layer, FlagEvaluations.layer).pipe(
  Layer.provideMerge(FlagWriter.layer),
  Layer.provideMerge(layerFlagEngineEmbedded),
  Layer.provideMerge(FlagSets.layer)
)

/** Flags on the test's own database, evaluated in this process. */
export const layerFlags = (options: DatabaseOptions) =>
  parts.pipe(Layer.provideMerge(settingsOf(options.settings)), Layer.provideMerge(layerDatabase(options)))

/** Another replica on the same database, until the scope closes. */
export const replica = Layer.build(Layer.fresh(parts).pipe(Layer.provide(Layer.fresh(settingsOf()))))

export const author: Author = { type: "key", id: 7, label: "test" }

/** Creates a boolean flag, which is off unless `given` has a rule. */
export const flag = (key: string, given: Partial<NewFlag> = {}) =>
  Effect.flatMap(Flags, (flags) =>
    flags.create(
      author,
      { key, type: "boolean", variants: { on: true, off: false }, defaultVariant: "off", ...given },
      undefined
    )
  )

export const segment = (key: string, rules: object) =>
  Effect.flatMap(FlagSegments, (segments) => segments.create(author, { key, rules: { ...rules } }))

/** `"TARGETING_MATCH on"`, or an error code, evaluated directly by the flag sets of this process. */
export const evaluated = (
  key: string,
  context: Readonly<Record<string, unknown>> = {},
  environment: FlagEnvironment = "production"
) =>
  Effect.map(FlagSets, (sets) => {
    const result = sets.current(environment).evaluate(key, context, Date.now())
    if (result.reason === "ERROR") return result.errorCode
    return result.variant === undefined ? result.reason : `${result.reason} ${result.variant}`
  })

export const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
