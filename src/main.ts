import { NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { secret, text } from "./domain/Settings.ts"
import { layerBodyLimit } from "./http/Body.ts"
import { routerConfig, Routes } from "./http/Routes.ts"
import { DataDir } from "./layers/DataDir.ts"
import { layerEmbedded } from "./layers/EmbeddedPostgres.ts"
import { layerExternal } from "./layers/ExternalPostgres.ts"
import { layerFirstKeys, layerKeysFile, layerNoKeysFile } from "./layers/FirstKeys.ts"
import { layerHttpListener, layerHttpSettings } from "./layers/HttpListener.ts"
import { layerListener } from "./layers/ListenerPostgres.ts"
import { layerLogs, layerTelemetry } from "./layers/Logs.ts"
import { layerExternalS3 } from "./layers/ObjectStoreAddress.ts"
import { layerEmbeddedS3 } from "./layers/ObjectStoreEmbedded.ts"
import { layerObjectStore } from "./layers/ObjectStoreS3.ts"
import { layerDb, layerOwnTables } from "./layers/Postgres.ts"
import { layerJwtSecret, layerJwtSecretKept } from "./layers/Secrets.ts"
import { reportStartFailure } from "./layers/StartError.ts"
import { layerWebhookTransport } from "./layers/WebhookTransportHttp.ts"
import { Catalogues } from "./services/Catalogues.ts"
import { DatabaseSchemas } from "./services/DatabaseSchemas.ts"
import { Functions } from "./services/Functions.ts"
import { Keys } from "./services/Keys.ts"
import { Realtime } from "./services/Realtime.ts"
import { RealtimeAccess } from "./services/RealtimeAccess.ts"
import { RealtimeSettings } from "./services/RealtimeSettings.ts"
import { RealtimeSubscriptions } from "./services/RealtimeSubscriptions.ts"
import { RateLimits } from "./services/RateLimits.ts"
import { Rows } from "./services/Rows.ts"
import { RowSettings } from "./services/RowSettings.ts"
import { SqlRunner } from "./services/SqlRunner.ts"
import { Status } from "./services/Status.ts"
import { Storage } from "./services/Storage.ts"
import { StorageObjects } from "./services/StorageObjects.ts"
import { StorageUploads } from "./services/StorageUploads.ts"
import { Tokens } from "./services/Tokens.ts"
import { WatchedTables } from "./services/WatchedTables.ts"
import { WebhookAttempts } from "./services/WebhookAttempts.ts"
import { layerWebhookDeliveries } from "./services/WebhookDeliveries.ts"
import { WebhookQueue } from "./services/WebhookQueue.ts"
import { layerWebhookRetention } from "./services/WebhookRetention.ts"
import { Webhooks } from "./services/Webhooks.ts"
import { WebhookSender } from "./services/WebhookSender.ts"
import { WebhookSettings } from "./services/WebhookSettings.ts"
import { WebhookTriggers } from "./services/WebhookTriggers.ts"

// The outside world: a PostgreSQL of our own, or the one of DATABASE_URL.
const World = Layer.unwrap(
  Effect.gen(function* () {
    const uri = yield* secret("DATABASE_URL")
    return uri === undefined
      ? Layer.mergeAll(layerEmbedded, layerJwtSecretKept, layerKeysFile).pipe(Layer.provide(DataDir.layer))
      : Layer.mergeAll(layerExternal(uri), layerJwtSecret, layerNoKeysFile)
  })
)

// The object store: an S3 endpoint of our own, or the one of S3_ENDPOINT.
const Objects = layerObjectStore.pipe(
  Layer.provide(
    Layer.unwrap(
      Effect.map(text("S3_ENDPOINT", undefined), (endpoint) =>
        endpoint === undefined ? layerEmbeddedS3.pipe(Layer.provide(DataDir.layer)) : layerExternalS3
      )
    )
  )
)

// The ports, on that PostgreSQL and that store.
const Ports = layerDb.pipe(
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener)),
  Layer.provideMerge(Objects),
  // Before the database is touched or waited for: what can be wrong with the settings alone.
  Layer.provideMerge(
    Layer.mergeAll(RowSettings.layer, RealtimeSettings.layer, WebhookSettings.layer, Tokens.layer, layerHttpSettings)
  ),
  Layer.provideMerge(World)
)

// Who is told of row changes over HTTP, and the workers that tell them.
const WebhookParts = Layer.mergeAll(
  Webhooks.layer,
  WebhookAttempts.layer,
  layerWebhookDeliveries,
  layerWebhookRetention
).pipe(
  Layer.provide(Layer.mergeAll(WebhookQueue.layer, WebhookSender.layer, WebhookTriggers.layer)),
  Layer.provide(layerWebhookTransport)
)

// Buckets and objects.
const StorageParts = Layer.mergeAll(Storage.layer, StorageObjects.layer, StorageUploads.layer)

// What the service can do.
const Capabilities = Layer.mergeAll(
  Rows.layer,
  Functions.layer,
  SqlRunner.layer,
  RealtimeSubscriptions.layer,
  WebhookParts,
  StorageParts
).pipe(
  Layer.provideMerge(Realtime.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Catalogues.layer,
      Keys.layer,
      RateLimits.layer,
      Status.layer,
      DatabaseSchemas.layer,
      RealtimeAccess.layer,
      WatchedTables.layer
    )
  )
)

// `disableLogger`: failures are logged where they are answered; a line for every request is a proxy's work.
const Server = HttpRouter.serve(Routes, { disableLogger: true, routerConfig }).pipe(
  Layer.provide(layerHttpListener),
  Layer.provide(layerBodyLimit),
  Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => request.url.startsWith("/healthz")))
)

// Built after the server, so ended before it: clients of the feed are told to go, then the server ends.
const Goodbye = Layer.effectDiscard(Effect.flatMap(Realtime, ({ close }) => Effect.addFinalizer(() => close)))

const App = Goodbye.pipe(
  Layer.provide(Server),
  Layer.provide(Capabilities),
  Layer.provide(layerFirstKeys),
  Layer.provide(Ports),
  Layer.provide([layerLogs, layerTelemetry])
)

Layer.launch(App).pipe(
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : reportStartFailure(cause))),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // Asked to end (SIGTERM, SIGINT): that is no failure.
    teardown: (exit, end) => end(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0)
  })
)
