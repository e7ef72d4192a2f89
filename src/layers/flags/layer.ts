import { Effect, Layer } from "effect"
import { FlagSets } from "../../services/flags/Sets.ts"
import { FlagSettings } from "../../services/flags/Settings.ts"
import { layerFlagEngineEmbedded } from "./engine/Embedded.ts"
import { layerFlagEngineFlagd } from "./engine/Flagd.ts"
import { layerFlagServers } from "./server/Servers.ts"

/** Evaluates flags with the flagd at FLAGS_HOST or in this process. */
export const layerEngine = Layer.unwrap(
  Effect.map(FlagSettings, ({ host }) => (host === undefined ? layerFlagEngineEmbedded : layerFlagEngineFlagd))
).pipe(Layer.provide(FlagSets.layer))

/** Serves flagd's protocols as well. */
export const layer = layerFlagServers.pipe(Layer.provideMerge(layerEngine), Layer.provide(FlagSets.layer))
