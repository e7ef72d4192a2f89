import { type ServiceImpl } from "@connectrpc/connect"
import { Clock, Effect, Layer, Stream } from "effect"
import { text } from "../../../domain/Settings.ts"
import { Turns } from "../../../services/access/Turns.ts"
import { FlagSets } from "../../../services/flags/Sets.ts"
import { FlagSettings } from "../../../services/flags/Settings.ts"
import { Service as ServiceV1 } from "../gen/flagd/evaluation/v1/evaluation_pb.ts"
import { Service as ServiceV2 } from "../gen/flagd/evaluation/v2/evaluation_pb.ts"
import { FlagSyncService, type SyncFlagsResponse } from "../gen/flagd/sync/v1/sync_pb.ts"
import { connectHandler } from "./ConnectHandler.ts"
import { evaluationV1, evaluationV2 } from "./Evaluation.ts"
import { FlagFeed } from "./Feed.ts"
import { enterTurnsOf } from "./LargeMessages.ts"
import { ofrepHandler } from "./OfrepHandler.ts"
import { type CallContext, peerIn } from "./Peer.ts"
import { type FlagPort, serveFlagPort } from "./Port.ts"
import { type FlagService, selected } from "./Service.ts"

/** The configuration for a selector of an unknown environment. */
const noFlags = `{"flags":{}}`

/** Interval in which a stream checks for changes without a notification, in ms. */
const pollMillis = 20_000

/** flagd.sync.v1.FlagSyncService: sends all flags of one environment to clients that evaluate themselves. */
const flagSync = (service: FlagService): ServiceImpl<typeof FlagSyncService> => ({
  syncFlags: ({ selector }, context) => snapshots(service, selected(service, context.requestHeader, selector), context),
  fetchAllFlags: ({ selector }, { requestHeader }) => {
    const environment = selected(service, requestHeader, selector)
    return { flagConfiguration: configurationOf(service, environment) }
  },
  // The service adds nothing to contexts, but older providers call this.
  getMetadata: () => ({ metadata: {} })
})

type Selected = ReturnType<typeof selected>

const configurationOf = (service: FlagService, environment: Selected) =>
  environment === "none" ? noFlags : service.current(environment).configuration(service.versioned)

/** The current flags, then the flags after each change. A slow reader skips intermediate states. */
async function* snapshots(
  service: FlagService,
  environment: Selected,
  context: CallContext
): AsyncGenerator<Pick<SyncFlagsResponse, "flagConfiguration" | "syncContext">, void> {
  const subscription = service.feed.subscribe(environment, context.signal, peerIn(context))
  let sent: string | undefined
  for (;;) {
    subscription.check()
    const flagConfiguration = configurationOf(service, environment)
    if (flagConfiguration !== sent) yield { flagConfiguration, syncContext: {} }
    sent = flagConfiguration
    await subscription.next(pollMillis)
  }
}

/** Serves until the scope closes. Yields the port numbers; with FLAGS_HOST only that of sync. */
export const serveFlags = Effect.gen(function* () {
  const sets = yield* FlagSets
  const settings = yield* FlagSettings
  const clock = yield* Clock.Clock
  const context = yield* Effect.context()
  const host = yield* text("HOST", "127.0.0.1")
  const feed = new FlagFeed(settings.streams)
  const service: FlagService = {
    feed,
    now: () => clock.currentTimeMillisUnsafe(),
    current: sets.current,
    environment: settings.environment,
    versioned: settings.host !== undefined
  }
  const report = (cause: unknown) => Effect.runForkWith(context)(Effect.logError("Failed to answer a flag call", cause))

  const enter = enterTurnsOf(yield* Turns)

  yield* sets.changes.pipe(
    Stream.runForEach((change) => Effect.sync(() => feed.publish(change))),
    Effect.forkScoped({ startImmediately: true })
  )

  const common = { host, corsOrigins: settings.corsOrigins, streams: settings.streams.connection, report }
  const serveEvaluation = serveFlagPort(
    { ...common, name: "Flag evaluation", port: settings.port, setting: "FLAGS_PORT", http2: true },
    connectHandler(
      (router) => router.service(ServiceV1, evaluationV1(service)).service(ServiceV2, evaluationV2(service)),
      { enter, feed, report }
    )
  )
  const serveOfrep = serveFlagPort(
    { ...common, name: "OFREP", port: settings.httpPort, setting: "FLAGS_HTTP_PORT", http2: false },
    ofrepHandler(service, enter, report)
  )
  const serveSync = serveFlagPort(
    { ...common, name: "Flag sync", port: settings.syncPort, setting: "FLAGS_SYNC_PORT", http2: true },
    connectHandler((router) => router.service(FlagSyncService, flagSync(service)), { enter, feed, report })
  )
  const own = settings.host === undefined ? { evaluation: yield* serveEvaluation, ofrep: yield* serveOfrep } : undefined
  const sync = yield* serveSync
  // Streams end with UNAVAILABLE before the ports close, so that clients reconnect.
  yield* Effect.addFinalizer(() => {
    feed.end()
    const ports = own === undefined ? [sync] : [own.evaluation, own.ofrep, sync]
    return Effect.forEach(ports, ({ close }) => close, { concurrency: "unbounded", discard: true })
  })
  const address = (what: string, { port }: FlagPort) => `${what} on ${host}:${port}`
  const evaluating = own === undefined ? [] : [address("evaluation", own.evaluation), address("OFREP", own.ofrep)]
  yield* Effect.logInfo(`Flags: ${[...evaluating, address("sync", sync)].join(", ")}`)
  return { evaluation: own?.evaluation.port, ofrep: own?.ofrep.port, sync: sync.port }
}).pipe(Effect.provide(Turns.layer))

/**
 * The ports of flagd on HOST: sync (FLAGS_SYNC_PORT), and without FLAGS_HOST also evaluation (FLAGS_PORT) and OFREP
 * (FLAGS_HTTP_PORT). As with flagd, clients need no key.
 */
export const layerFlagServers = Layer.effectDiscard(serveFlags)
