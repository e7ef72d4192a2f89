import { NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { secret } from "./domain/Settings.ts"
import { layerBodyLimit } from "./http/Body.ts"
import { routerConfig, Routes } from "./http/Routes.ts"
import { DataDir } from "./layers/DataDir.ts"
import { layerEmbedded } from "./layers/EmbeddedPostgres.ts"
import { layerExternal } from "./layers/ExternalPostgres.ts"
import { layerFirstKeys, layerKeysFile, layerNoKeysFile } from "./layers/FirstKeys.ts"
import { layerHttpListener, layerHttpSettings } from "./layers/HttpListener.ts"
import { layerListener } from "./layers/ListenerPostgres.ts"
import { layerLogs, layerTelemetry } from "./layers/Logs.ts"
import { layerDb, layerOwnTables } from "./layers/Postgres.ts"
import { layerJwtSecret, layerJwtSecretKept } from "./layers/Secrets.ts"
import { reportStartFailure } from "./layers/StartError.ts"
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
import { Tokens } from "./services/Tokens.ts"
import { WatchedTables } from "./services/WatchedTables.ts"

// The outside world: a PostgreSQL of our own, or the one of DATABASE_URL.
const World = Layer.unwrap(
  Effect.gen(function* () {
    const uri = yield* secret("DATABASE_URL")
    return uri === undefined
      ? Layer.mergeAll(layerEmbedded, layerJwtSecretKept, layerKeysFile).pipe(Layer.provide(DataDir.layer))
      : Layer.mergeAll(layerExternal(uri), layerJwtSecret, layerNoKeysFile)
  })
)

// The ports, on that PostgreSQL.
const Ports = layerDb.pipe(
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener)),
  // Before the database is touched or waited for: what can be wrong with the settings alone.
  Layer.provideMerge(Layer.mergeAll(RowSettings.layer, RealtimeSettings.layer, Tokens.layer, layerHttpSettings)),
  Layer.provideMerge(World)
)

// What the service can do.
const Capabilities = Layer.mergeAll(Rows.layer, Functions.layer, SqlRunner.layer, RealtimeSubscriptions.layer).pipe(
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
