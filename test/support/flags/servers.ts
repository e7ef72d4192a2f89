import { Context, Effect, Exit, Layer, Logger, PubSub, Scope, Stream } from "effect"
import { type FlagDefinition } from "../../../src/domain/flags/Evaluation.ts"
import { type FlagEnvironment, flagEnvironments } from "../../../src/domain/flags/Environment.ts"
import { CompiledFlag, FlagSet } from "../../../src/domain/flags/sets/Set.ts"
import { type FlagChangeKind, type FlagSetChange } from "../../../src/domain/flags/sets/Snapshot.ts"
import { serveFlags } from "../../../src/layers/flags/server/Servers.ts"
import { FlagSets } from "../../../src/services/flags/Sets.ts"
import { FlagSettings } from "../../../src/services/flags/Settings.ts"

export type Definition = Omit<FlagDefinition, "key">

/** A boolean flag with the variants on and off. */
export const onOff = (over: Partial<Definition> = {}): Definition => ({
  state: "ENABLED",
  variants: { on: true, off: false },
  defaultVariant: "on",
  targeting: {},
  ...over
})

/** Changes flags of one environment; undefined deletes one. Publishes the change. */
export class TestFlags extends Context.Service<
  TestFlags,
  (environment: FlagEnvironment, flags: Readonly<Record<string, Definition | undefined>>) => Effect.Effect<number>
>()("test/TestFlags") {}

/** The flag sets of a process without a database. */
export const layerTestFlags = Layer.effectContext(
  Effect.gen(function* () {
    const hub = yield* PubSub.unbounded<FlagSetChange>()
    const sets = Object.fromEntries(flagEnvironments.map((name) => [name, new FlagSet(name, 0, new Map())])) as Record<
      FlagEnvironment,
      FlagSet
    >
    let revision = 0
    const put: TestFlags["Service"] = (environment, definitions) =>
      Effect.gen(function* () {
        const flags = new Map(sets[environment].flags)
        const kinds = new Map<string, FlagChangeKind>()
        for (const [key, definition] of Object.entries(definitions)) {
          kinds.set(key, definition === undefined ? "delete" : flags.has(key) ? "update" : "write")
          if (definition === undefined) flags.delete(key)
          else flags.set(key, new CompiledFlag({ key, ...definition }, "v2"))
        }
        const set = new FlagSet(environment, ++revision, flags)
        sets[environment] = set
        yield* PubSub.publish(hub, { environment, set, flags: kinds })
        return revision
      })
    const service = FlagSets.of({
      current: (environment) => sets[environment],
      revision: () => revision,
      changes: Stream.fromPubSub(hub),
      awaitRevision: () => Effect.void
    })
    return Context.make(FlagSets, service).pipe(Context.add(TestFlags, put))
  })
)

type Settings = FlagSettings["Service"]

export const flagSettings: Settings = {
  host: undefined,
  port: 0,
  httpPort: 0,
  syncPort: 0,
  environment: "production",
  hashing: "v2",
  fallback: false,
  corsOrigins: [],
  streams: { connection: 100, address: 1_000 }
}

/** The servers on free ports. */
export interface FlagServers {
  /** `127.0.0.1:<port>` */
  readonly evaluation: string
  readonly ofrep: string
  readonly sync: string
  readonly put: (
    environment: FlagEnvironment,
    flags: Readonly<Record<string, Definition | undefined>>
  ) => Promise<number>
  /** Stops the servers, as the shutdown of the service does. */
  readonly stop: () => Promise<void>
}

export const startFlagServers = async (over: Partial<Settings> = {}): Promise<FlagServers> => {
  const scope = Scope.makeUnsafe()
  const layer = Layer.mergeAll(
    layerTestFlags,
    Layer.succeed(FlagSettings, { ...flagSettings, ...over }),
    Logger.layer([])
  )
  const [ports, put] = await Effect.all([serveFlags, TestFlags]).pipe(
    Effect.provide(layer),
    Scope.provide(scope),
    Effect.runPromise
  )
  const at = (port: number | undefined) => `127.0.0.1:${port}`
  return {
    evaluation: at(ports.evaluation),
    ofrep: at(ports.ofrep),
    sync: at(ports.sync),
    put: (environment, flags) => Effect.runPromise(put(environment, flags)),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
