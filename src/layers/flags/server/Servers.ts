import { Clock, Effect, Layer, Stream } from "effect"
import { text } from "../../../domain/Settings.ts"
import { FlagSets } from "../../../services/flags/Sets.ts"
import { FlagSettings } from "../../../services/flags/Settings.ts"
import { connectHandler } from "./ConnectHandler.ts"
import { evaluationV1, evaluationV2 } from "./Evaluation.ts"
import { flagCors } from "./Cors.ts"
import { FlagFeed } from "./Feed.ts"
import { type FlagPort, serveFlagPort } from "./Port.ts"
import { type FlagService } from "./Service.ts"
import { flagSync } from "./Sync.ts"
import { Service as ServiceV1 } from "../gen/flagd/evaluation/v1/evaluation_pb.ts"
import { Service as ServiceV2 } from "../gen/flagd/evaluation/v2/evaluation_pb.ts"
import { FlagSyncService } from "../gen/flagd/sync/v1/sync_pb.ts"
import { ofrepHandler } from "./OfrepHandler.ts"

/** Serves until the scope closes; yields the ports, of which two are missing when a flagd of its own has them. */
export const serveFlags = Effect.gen(function* () {
  const sets = yield* FlagSets
  const settings = yield* FlagSettings
  const clock = yield* Clock.Clock
  const context = yield* Effect.context()
  const host = yield* text("HOST", "127.0.0.1")
  const feed = new FlagFeed()
  const service: FlagService = {
    feed,
    now: () => clock.currentTimeMillisUnsafe(),
    current: sets.current,
    environment: settings.environment
  }
  const cors = flagCors(settings.corsOrigins)
  const report = (cause: unknown) => Effect.runForkWith(context)(Effect.logError("A flag call failed", cause))

  yield* sets.changes.pipe(
    Stream.runForEach((change) => Effect.sync(() => feed.tell(change))),
    Effect.forkScoped({ startImmediately: true })
  )

  const serveEvaluation = serveFlagPort(
    { name: "Flag evaluation", host, port: settings.port, setting: "FLAGS_PORT", http2: true, report },
    connectHandler(
      (router) => router.service(ServiceV1, evaluationV1(service)).service(ServiceV2, evaluationV2(service)),
      cors,
      report
    )
  )
  const serveOfrep = serveFlagPort(
    { name: "OFREP", host, port: settings.httpPort, setting: "FLAGS_HTTP_PORT", http2: false, report },
    ofrepHandler(service, cors, report)
  )
  const serveSync = serveFlagPort(
    { name: "Flag sync", host, port: settings.syncPort, setting: "FLAGS_SYNC_PORT", http2: true, report },
    connectHandler((router) => router.service(FlagSyncService, flagSync(service)), cors, report)
  )
  const own = settings.host === undefined ? { evaluation: yield* serveEvaluation, ofrep: yield* serveOfrep } : undefined
  const sync = yield* serveSync
  // Streams end with UNAVAILABLE before the ports close, so that clients come back.
  yield* Effect.addFinalizer(() => {
    feed.end()
    const ports = own === undefined ? [sync] : [own.evaluation, own.ofrep, sync]
    return Effect.forEach(ports, ({ close }) => close, { concurrency: "unbounded", discard: true })
  })
  const said = (what: string, { port }: FlagPort) => `${what} on ${host}:${port}`
  const ours = own === undefined ? [] : [said("evaluation", own.evaluation), said("OFREP", own.ofrep)]
  yield* Effect.logInfo(`Flags: ${[...ours, said("sync", sync)].join(", ")}`)
  return { evaluation: own?.evaluation.port, ofrep: own?.ofrep.port, sync: sync.port }
})

/**
 * flagd's ports on HOST: evaluation (FLAGS_PORT) and OFREP (FLAGS_HTTP_PORT), unless a flagd of its own serves them
 * (FLAGS_HOST), and sync (FLAGS_SYNC_PORT). As with flagd, whoever reaches them needs no key.
 */
export const layerFlagServers = Layer.effectDiscard(serveFlags)
