import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { secret, text } from "./domain/Settings.ts"
import { layerBodyLimit } from "./http/wire/Body.ts"
import { routerConfig, Routes } from "./http/Routes.ts"
import { layerBackupDirectory } from "./layers/dumps/BackupDirectory.ts"
import { layerConnectionProbe } from "./layers/connections/Probe.ts"
import { layerBranchDatabases } from "./layers/branches/Databases.ts"
import { DataDir } from "./layers/process/DataDir.ts"
import { layerDumpToolsFound } from "./layers/dumps/ToolsFound.ts"
import { layerEmbedded } from "./layers/postgres/embedded/Embedded.ts"
import { layerExternal } from "./layers/postgres/External.ts"
import { layerFirstKeys, layerKeysFile, layerNoKeysFile } from "./layers/install/FirstKeys.ts"
import { layerFlagEngineEmbedded } from "./layers/flags/engine/Embedded.ts"
import { layerFlagEngineFlagd } from "./layers/flags/engine/Flagd.ts"
import { layerFlagServers } from "./layers/flags/server/Servers.ts"
import { layerHttpListener, layerHttpSettings } from "./layers/net/Listener.ts"
import { idpAddress } from "./layers/identity/Address.ts"
import { layerIdPKratos } from "./layers/identity/kratos/Kratos.ts"
import { layerIdPNone } from "./layers/identity/None.ts"
import { layerListener } from "./layers/postgres/Listener.ts"
import { layerLogs, layerTelemetry } from "./layers/process/Logs.ts"
import { layerMigrationDirectory } from "./layers/migrations/Directory.ts"
import { oauth2Address } from "./layers/oauth2/Address.ts"
import { layerOAuth2Hydra } from "./layers/oauth2/hydra/Hydra.ts"
import { layerOAuth2None } from "./layers/oauth2/None.ts"
import { layerExternalS3 } from "./layers/storage/Address.ts"
import { layerEmbeddedS3 } from "./layers/storage/Embedded.ts"
import { layerObjectStore } from "./layers/storage/client/ObjectStore.ts"
import { layerDb, layerOwnTables } from "./layers/postgres/Db.ts"
import {
  layerEncryptionKeys,
  layerEncryptionKeysKept,
  layerJwtSecret,
  layerJwtSecretKept
} from "./layers/process/Secrets.ts"
import { reportStartFailure } from "./layers/process/StartError.ts"
import { layerWebhookTransport } from "./layers/webhooks/Transport.ts"
import { ApiDescriptions } from "./services/schema/ApiDescriptions.ts"
import { layerAllSettings } from "./services/AllSettings.ts"
import { layerBackups } from "./services/backups/layer.ts"
import { Branches } from "./services/branches/Branches.ts"
import { layerBranchUpkeep } from "./services/branches/Upkeep.ts"
import { Catalogues } from "./services/catalogue/Catalogues.ts"
import { Connections } from "./services/connections/Connections.ts"
import { DatabaseSchemas } from "./services/schema/DatabaseSchemas.ts"
import { EnvironmentBuckets } from "./services/environments/Buckets.ts"
import { Environments } from "./services/environments/Environments.ts"
import { EnvironmentTurns } from "./services/environments/Turns.ts"
import { FlagEvaluations } from "./services/flags/Evaluations.ts"
import { FlagHistory } from "./services/flags/History.ts"
import { FlagRecords } from "./services/flags/Records.ts"
import { Flags } from "./services/flags/Flags.ts"
import { FlagSegments } from "./services/flags/Segments.ts"
import { FlagSets } from "./services/flags/Sets.ts"
import { FlagSettings } from "./services/flags/Settings.ts"
import { layerFlagUsage } from "./services/flags/Usage.ts"
import { FlagWriter } from "./services/flags/Writer.ts"
import { ForeignData } from "./services/foreign/ForeignData.ts"
import { ForeignImports } from "./services/foreign/Imports.ts"
import { ForeignSessions } from "./services/foreign/Sessions.ts"
import { Functions } from "./services/rows/Functions.ts"
import { IdentitySignatures } from "./services/identity/Signatures.ts"
import { Keys } from "./services/access/Keys.ts"
import { Mfa } from "./services/identity/Mfa.ts"
import { MigrationHistories } from "./services/migrations/Histories.ts"
import { MigrationRunner } from "./services/migrations/Runner.ts"
import { Migrations } from "./services/migrations/Migrations.ts"
import { MigrationTurns } from "./services/migrations/Turns.ts"
import { OAuth2Bridge } from "./services/oauth2/Bridge.ts"
import { OAuth2Claims } from "./services/oauth2/Claims.ts"
import { OAuth2Consents } from "./services/oauth2/Consents.ts"
import { OAuth2Logouts } from "./services/oauth2/Logouts.ts"
import { Realtime } from "./services/realtime/Realtime.ts"
import { RealtimeAccess } from "./services/realtime/Access.ts"
import { RealtimeSubscriptions } from "./services/realtime/Subscriptions.ts"
import { RateLimits } from "./services/access/RateLimits.ts"
import { RowMethods } from "./services/rows/Methods.ts"
import { Rows } from "./services/rows/Rows.ts"
import { SchemaOutlines } from "./services/schema/Outlines.ts"
import { Sessions } from "./services/identity/Sessions.ts"
import { SignIn } from "./services/identity/SignIn.ts"
import { SqlRunner } from "./services/sql/SqlRunner.ts"
import { Status } from "./services/Status.ts"
import { Storage } from "./services/storage/Buckets.ts"
import { StorageObjects } from "./services/storage/Objects.ts"
import { StorageUploads } from "./services/storage/Uploads.ts"
import { Tokens } from "./services/access/Tokens.ts"
import { WatchedTables } from "./services/catalogue/WatchedTables.ts"
import { layerWebhooks } from "./services/webhooks/layer.ts"

// The outside world: a PostgreSQL of our own, or the one of DATABASE_URL.
const World = Layer.unwrap(
  Effect.gen(function* () {
    const uri = yield* secret("DATABASE_URL")
    return uri === undefined
      ? Layer.mergeAll(layerEmbedded, layerJwtSecretKept, layerEncryptionKeysKept, layerKeysFile).pipe(
          Layer.provide(DataDir.layer)
        )
      : Layer.mergeAll(layerExternal(uri), layerJwtSecret, layerEncryptionKeys, layerNoKeysFile)
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

// Who knows people and who knows clients: the servers of IDP_* and OAUTH2_*, or nobody.
const IdentityServers = Layer.mergeAll(
  Layer.unwrap(Effect.map(idpAddress, (address) => (address === undefined ? layerIdPNone : layerIdPKratos(address)))),
  Layer.unwrap(
    Effect.map(oauth2Address, (address) => (address === undefined ? layerOAuth2None : layerOAuth2Hydra(address)))
  )
)

// The ports, on that PostgreSQL and that store.
const Ports = layerDb.pipe(
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener)),
  Layer.provideMerge(Objects),
  // Before the database is touched or waited for: what can be wrong with the settings alone.
  Layer.provideMerge(Layer.mergeAll(layerAllSettings, IdentityServers, Tokens.layer, layerHttpSettings)),
  Layer.provideMerge(World)
)

// Who is told of row changes over HTTP, and the workers that tell them.
const WebhookParts = layerWebhooks.pipe(Layer.provide(layerWebhookTransport))

// Buckets and objects.
const StorageParts = Layer.mergeAll(Storage.layer, StorageObjects.layer, StorageUploads.layer)

// What evaluates feature flags: this process, or the flagd at FLAGS_HOST.
const FlagEngines = Layer.unwrap(
  Effect.map(FlagSettings, ({ host }) => (host === undefined ? layerFlagEngineEmbedded : layerFlagEngineFlagd))
)

// Feature flags, their segments and history.
const FlagParts = Layer.mergeAll(Flags.layer, FlagSegments.layer).pipe(
  Layer.provide(Layer.mergeAll(FlagRecords.layer, FlagWriter.layer)),
  Layer.provideMerge(Layer.mergeAll(FlagHistory.layer, FlagEvaluations.layer, layerFlagUsage, layerFlagServers)),
  Layer.provideMerge(FlagEngines),
  Layer.provideMerge(FlagSets.layer)
)

// Sign-in, second factors, and the bridge between the two servers.
const IdentityParts = Layer.mergeAll(Mfa.layer, SignIn.layer, OAuth2Bridge.layer).pipe(
  Layer.provideMerge(OAuth2Logouts.layer),
  Layer.provideMerge(OAuth2Consents.layer),
  Layer.provideMerge(Layer.mergeAll(Sessions.layer, OAuth2Claims.layer, IdentitySignatures.layer))
)

// What dumps the database, and where to.
const Dumps = Layer.mergeAll(layerBackupDirectory, layerDumpToolsFound)

// Copies of the database.
const BranchParts = layerBranchUpkeep.pipe(
  Layer.provideMerge(Branches.layer),
  Layer.provide(layerBranchDatabases),
  Layer.provide(Dumps)
)

// Dumps of the database in files, and in branches.
const BackupParts = layerBackups.pipe(Layer.provide(Dumps), Layer.provideMerge(BranchParts))

// The user's migration files.
const MigrationParts = Migrations.layer.pipe(
  Layer.provide(Layer.mergeAll(MigrationHistories.layer, MigrationRunner.layer, MigrationTurns.layer)),
  Layer.provide(layerMigrationDirectory)
)

// Environments: a schema and a bucket each.
const EnvironmentParts = Environments.layer.pipe(
  Layer.provide(Layer.mergeAll(EnvironmentBuckets.layer, EnvironmentTurns.layer))
)

// Connection strings of other databases.
const ConnectionParts = Connections.layer.pipe(Layer.provide(layerConnectionProbe))

// Tables of other databases.
const ForeignDataParts = Layer.mergeAll(ForeignData.layer, ForeignImports.layer).pipe(
  Layer.provide(ForeignSessions.layer)
)

// What the service can do.
const Capabilities = Layer.mergeAll(
  Rows.layer,
  RowMethods.layer,
  Functions.layer,
  SqlRunner.layer,
  RealtimeSubscriptions.layer,
  WebhookParts,
  StorageParts,
  FlagParts,
  MigrationParts,
  BackupParts,
  EnvironmentParts,
  ConnectionParts,
  ForeignDataParts,
  IdentityParts
).pipe(
  Layer.provideMerge(Realtime.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Catalogues.layer,
      Keys.layer,
      RateLimits.layer,
      Status.layer,
      Layer.mergeAll(DatabaseSchemas.layer, ApiDescriptions.layer).pipe(Layer.provide(SchemaOutlines.layer)),
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
