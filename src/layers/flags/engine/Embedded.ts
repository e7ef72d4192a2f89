import { Clock, Effect, Layer } from "effect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { type FlagContext } from "../../../domain/flags/Evaluation.ts"
import { FlagEngine } from "../../../services/ports/FlagEngine.ts"
import { FlagSets } from "../../../services/flags/Sets.ts"
import { allFlags } from "../server/Service.ts"

/** Evaluates in this process, with the current flag sets. */
export const layerFlagEngineEmbedded = Layer.effect(
  FlagEngine,
  Effect.gen(function* () {
    const sets = yield* FlagSets
    const clock = yield* Clock.Clock
    return FlagEngine.of({
      evaluate: (environment: FlagEnvironment, key: string, context: FlagContext) =>
        Effect.sync(() => sets.current(environment).evaluate(key, context, clock.currentTimeMillisUnsafe())),
      evaluateAll: (environment: FlagEnvironment, context: FlagContext) =>
        Effect.promise(() => allFlags(sets.current(environment), context, clock.currentTimeMillisUnsafe())),
      synced: (_environments, revision) =>
        Effect.match(sets.awaitRevision(revision), { onSuccess: () => true, onFailure: () => false }),
      status: Effect.succeed({ engine: "embedded", address: null, connected: true, error: null }),
      external: false,
      degraded: () => false
    })
  })
)
