import { Context, Effect, Layer, Logger } from "effect"
import { type FlagEnvironment } from "../../../src/domain/flags/Environment.ts"
import { type FlagContext, type FlagResult } from "../../../src/domain/flags/Evaluation.ts"
import { layerFlagEngineEmbedded } from "../../../src/layers/flags/engine/Embedded.ts"
import { layerFlagEngineFlagd } from "../../../src/layers/flags/engine/Flagd.ts"
import { serveFlags } from "../../../src/layers/flags/server/Servers.ts"
import { FlagEngine } from "../../../src/services/ports/FlagEngine.ts"
import { type FlagSets } from "../../../src/services/flags/Sets.ts"
import { FlagSettings } from "../../../src/services/flags/Settings.ts"
import { type Flagd, startFlagd } from "../../fakes/flags/flagd.ts"
import { type Definition, flagSettings, layerTestFlags, onOff, TestFlags } from "./servers.ts"

/** An engine, and the flag sets that it evaluates. */
export type FlagEngineUnderTest = Layer.Layer<FlagEngine | FlagSets | TestFlags>

/** A fake flagd that can be stopped and restarted on its port. */
export class FlagdProcess extends Context.Service<
  FlagdProcess,
  {
    /** The running instance, or the last one. */
    readonly running: () => Flagd
    readonly stop: Effect.Effect<void>
    readonly start: Effect.Effect<void>
  }
>()("test/FlagdProcess") {}

const layerFlagdProcess = Layer.effect(
  FlagdProcess,
  Effect.gen(function* () {
    const { sync: syncPort } = yield* serveFlags
    const run = (port: number) => Effect.promise(() => startFlagd({ syncPort, port }))
    const end = Effect.suspend(() => Effect.promise(() => flagd[Symbol.asyncDispose]()))
    let flagd = yield* run(0)
    let stopped = false
    const stop = Effect.suspend(() => {
      if (stopped) return Effect.void
      stopped = true
      return end
    })
    yield* Effect.addFinalizer(() => stop)
    return FlagdProcess.of({
      running: () => flagd,
      stop,
      start: Effect.suspend(() =>
        Effect.map(run(flagd.port), (next) => {
          flagd = next
          stopped = false
        })
      )
    })
  })
)

const settings = (over: Partial<FlagSettings["Service"]>) =>
  Layer.succeed(FlagSettings, { ...flagSettings, host: "127.0.0.1", ...over })

export const layerEmbeddedEngine: FlagEngineUnderTest = layerFlagEngineEmbedded.pipe(Layer.provideMerge(layerTestFlags))

/** The flagd layer on a fake without flags; `without`: that is stopped. `lines` collects the log. */
export const flagdEngine = ({
  without = false,
  ...over
}: { readonly fallback?: boolean; readonly without?: boolean } = {}) => {
  const lines: Array<string> = []
  const layer = Layer.unwrap(
    Effect.gen(function* () {
      const { running, stop } = yield* FlagdProcess
      if (without) yield* stop
      return layerFlagEngineFlagd.pipe(Layer.provide(settings({ httpPort: running().port, ...over })))
    })
  ).pipe(
    Layer.provideMerge(layerFlagdProcess.pipe(Layer.provide(settings({})))),
    Layer.provideMerge(layerTestFlags),
    Layer.provideMerge(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])),
    Layer.orDie
  )
  return { layer, lines }
}

/** The flagd layer on an external flagd, which must have no flags of an earlier run. */
export const layerRealFlagdEngine = (url: string, syncPort: number): FlagEngineUnderTest => {
  const { hostname, port } = new URL(url)
  const connected = Layer.effectDiscard(
    Effect.gen(function* () {
      for (;;) {
        const revision = yield* put("production", { "contract-ready": onOff() })
        if (yield* (yield* FlagEngine).synced(["production"], revision)) return
      }
    }).pipe(Effect.timeout("90 seconds"))
  )
  return connected.pipe(
    Layer.provideMerge(layerFlagEngineFlagd),
    Layer.provide(Layer.effectDiscard(serveFlags)),
    Layer.provide(settings({ host: hostname, httpPort: Number(port), syncPort })),
    Layer.provideMerge(layerTestFlags),
    Layer.provide(Logger.layer([])),
    Layer.orDie
  )
}

type Flags = Readonly<Record<string, Definition | undefined>>

/** Changes flags; undefined deletes one. Returns the revision, which the engine may not have yet. */
export const put = (environment: FlagEnvironment, flags: Flags) =>
  Effect.flatMap(TestFlags, (put) => put(environment, flags))

/** As `put`, and waits for the engine to have the revision. */
export const putSynced = Effect.fnUntraced(function* (environment: FlagEnvironment, flags: Flags) {
  const revision = yield* put(environment, flags)
  const synced = yield* (yield* FlagEngine).synced([environment], revision)
  if (!synced) return yield* Effect.die(`revision ${revision} of ${environment} was not synced`)
  return revision
})

/** The part of a result that can be compared: each engine words its failures differently. */
export const plain = (result: FlagResult): Readonly<Record<string, unknown>> => {
  if (result.reason !== "ERROR") return { ...result }
  const { errorCode, errorDetails, key, metadata, reason } = result
  return { key, reason, errorCode, details: errorDetails.length > 0, metadata }
}

export const evaluate = (environment: FlagEnvironment, key: string, context: FlagContext = {}) =>
  Effect.flatMap(FlagEngine, (engine) => engine.evaluate(environment, key, context))

export const evaluateAll = (environment: FlagEnvironment, context: FlagContext = {}) =>
  Effect.flatMap(FlagEngine, (engine) => engine.evaluateAll(environment, context))
