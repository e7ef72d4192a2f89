import { Effect, Layer } from "effect"
import * as http from "./http/layer.ts"
import { failWithFaults, layerSettings, layerValidSettings } from "./layers/check/Settings.ts"
import { layerUnknownSettings } from "./layers/check/UnknownSettings.ts"
import { layerBranchDatabases } from "./layers/branches/Databases.ts"
import { layerSchemaPlanner } from "./layers/branches/schema/Planner.ts"
import { layerConnectionProbe } from "./layers/connections/Probe.ts"
import { layerDashboardFiles } from "./layers/dashboard/Files.ts"
import { layerDashboardAddress } from "./layers/dashboard/Address.ts"
import * as dumps from "./layers/dumps/layer.ts"
import { layerExampleStart } from "./layers/example/Start.ts"
import * as flagEngine from "./layers/flags/layer.ts"
import * as identityProvider from "./layers/identity/layer.ts"
import { layerFunctionEngine } from "./layers/functions/Engine.ts"
import { layerFunctionFolder } from "./layers/functions/Folder.ts"
import { layerFirstKeys } from "./layers/install/FirstKeys.ts"
import { layerInstallation } from "./layers/postgres/Installation.ts"
import { layerUpkeep } from "./layers/install/Upkeep.ts"
import { layerDocFiles } from "./layers/mcp/DocFiles.ts"
import { layerMigrationDirectory } from "./layers/migrations/Directory.ts"
import { layerHttpListener } from "./layers/net/Listener.ts"
import * as oauth2Server from "./layers/oauth2/layer.ts"
import * as operations from "./layers/operations/layer.ts"
import * as postgres from "./layers/postgres/layer.ts"
import { layerKeptLogs } from "./layers/logs/LogFile.ts"
import { layerLogLines } from "./layers/logs/Search.ts"
import { layerObservability } from "./layers/logs/Logs.ts"
import { run } from "./layers/process/run.ts"
import * as logArchive from "./layers/recovery/layer.ts"
import { layerKeptObjects } from "./layers/storage/KeptObjects.ts"
import * as objectStore from "./layers/storage/layer.ts"
import * as upgrade from "./layers/upgrade/layer.ts"
import { layerFunctionServer } from "./layers/supabase/Functions.ts"
import { layerWebhookTransport } from "./layers/webhooks/Transport.ts"
import { layerPrimary } from "./layers/workers/Primary.ts"
import { workerCount, workerNumber } from "./layers/process/WorkerSettings.ts"
import { layerReady, layerWorker, reportFailure } from "./layers/workers/Worker.ts"
import { layerWorkers } from "./layers/workers/Workers.ts"
import * as access from "./services/access/layer.ts"
import { Tokens, TokenSettings } from "./services/access/Tokens.ts"
import { Audit } from "./services/audit/Audit.ts"
import { layerAuditRetention } from "./services/audit/Retention.ts"
import * as backups from "./services/backups/layer.ts"
import * as branches from "./services/branches/layer.ts"
import { BranchSchemas } from "./services/branches/schema/BranchSchemas.ts"
import { ChangeHealth, Changes } from "./services/changes/Changes.ts"
import { layerChangeReader } from "./services/changes/Reader.ts"
import { Catalogues } from "./services/catalogue/Catalogues.ts"
import * as changes from "./services/changes/layer.ts"
import { Connections } from "./services/connections/Connections.ts"
import { DashboardSessions } from "./services/dashboard/Sessions.ts"
import { Environments } from "./services/environments/Environments.ts"
import * as flags from "./services/flags/layer.ts"
import * as foreign from "./services/foreign/layer.ts"
import * as identity from "./services/identity/layer.ts"
import { Advisor } from "./services/insights/Advisor.ts"
import { Insights } from "./services/insights/Insights.ts"
import { McpTools } from "./services/mcp/McpTools.ts"
import { layerMeters } from "./services/metrics/Meters.ts"
import { Migrations } from "./services/migrations/Migrations.ts"
import * as oauth2 from "./services/oauth2/layer.ts"
import * as queues from "./services/queues/layer.ts"
import * as realtime from "./services/realtime/layer.ts"
import { AccessLog } from "./services/requests/AccessLog.ts"
import { RequestLog } from "./services/requests/RequestLog.ts"
import { Drills } from "./services/recovery/Drills.ts"
import { ArchiveHealth } from "./services/recovery/ArchiveHealth.ts"
import { TableCounts } from "./services/recovery/TableCounts.ts"
import { Recovery } from "./services/backups/Recovery.ts"
import * as rows from "./services/rows/layer.ts"
import * as charts from "./services/charts/layer.ts"
import * as schedules from "./services/schedules/layer.ts"
import * as workspace from "./services/workspace/layer.ts"
import * as schema from "./services/schema/layer.ts"
import { SqlRunner } from "./services/sql/SqlRunner.ts"
import { layerShutdownDelay, Shutdown } from "./services/Shutdown.ts"
import { Status } from "./services/Status.ts"
import * as storage from "./services/storage/layer.ts"
import * as supabase from "./services/supabase/layer.ts"
import * as functions from "./services/functions/layer.ts"
import { layerFunctionTargets } from "./services/functions/WebhookTargets.ts"
import * as webhooks from "./services/webhooks/layer.ts"

// What the service runs on, below a flag engine. Each part chooses by its settings: embedded, or a server of yours.
const Base = Layer.mergeAll(layerBranchDatabases, layerSchemaPlanner, layerConnectionProbe).pipe(
  Layer.provideMerge(
    Layer.mergeAll(dumps.layer, layerMigrationDirectory, layerFunctionServer, layerFunctionEngine, layerFunctionFolder)
  ),
  Layer.provideMerge(logArchive.layer),
  Layer.provideMerge(Layer.mergeAll(layerFirstKeys, layerUpkeep, layerKeptObjects, oauth2Server.layer)),
  Layer.provideMerge(Layer.mergeAll(identityProvider.layer, Tokens.layer)),
  Layer.provideMerge(Layer.mergeAll(identityProvider.layerKeys, layerWebhookTransport)),
  Layer.provideMerge(postgres.layer),
  Layer.provideMerge(objectStore.layer),
  Layer.provideMerge(TokenSettings.layer),
  Layer.provideMerge(layerInstallation.pipe(Layer.provide(upgrade.layer))),
  Layer.provideMerge(layerKeptLogs),
  Layer.provideMerge(Layer.mergeAll(layerSettings, layerUnknownSettings))
)

const Outside = flagEngine.layer.pipe(Layer.provideMerge(Base))
const OutsideOfWorker = flagEngine.layerEngine.pipe(Layer.provideMerge(Base))

// What it can do, in the order of the README.
const Capabilities = Layer.mergeAll(
  rows.layer,
  rows.layerWarm,
  SqlRunner.layer,
  schema.layer,
  realtime.layer,
  webhooks.layer,
  queues.layer,
  layerChangeReader,
  Changes.layer.pipe(Layer.provideMerge(ChangeHealth.layer)),
  storage.layer,
  supabase.layer,
  flags.layer,
  oauth2.layer,
  backups.layer,
  Recovery.layer.pipe(
    Layer.provideMerge(Drills.layer),
    Layer.provideMerge(Layer.mergeAll(ArchiveHealth.layer, TableCounts.layer))
  ),
  Environments.layer,
  BranchSchemas.layer.pipe(Layer.provideMerge(Migrations.layer)),
  Connections.layer,
  foreign.layer,
  Advisor.layer,
  Insights.layer,
  charts.layer.pipe(Layer.provideMerge(RequestLog.layer)),
  AccessLog.layer(Number(workerNumber ?? 0)),
  Audit.layer,
  layerAuditRetention,
  workspace.layer,
  Status.layer,
  layerLogLines
).pipe(
  Layer.provideMerge(Layer.mergeAll(DashboardSessions.layer, layerDashboardFiles)),
  Layer.provideMerge(schedules.layer),
  Layer.provideMerge(layerFunctionTargets),
  Layer.provideMerge(functions.layer),
  // Those that others build on.
  Layer.provideMerge(Layer.mergeAll(access.layer, Catalogues.layer, changes.layer, identity.layer, branches.layer))
)

/** The API, from the last to be built, which is the first to end, to the first. */
const Api = layerShutdownDelay.pipe(
  Layer.provide(layerDashboardAddress),
  Layer.provide(operations.layer),
  Layer.provide(realtime.layerShutdown),
  Layer.provide(http.layer),
  Layer.provide(layerHttpListener),
  Layer.provide([McpTools.layer.pipe(Layer.provide(layerDocFiles)), layerExampleStart]),
  Layer.provide(Capabilities),
  Layer.provide(Shutdown.layer)
)

/** Built before everything else: a service with an invalid setting starts nothing. */
const Ground = Layer.mergeAll(layerMeters, layerObservability).pipe(Layer.provide(layerValidSettings))

/** The whole service in one process. */
export const Service = Api.pipe(Layer.provide(Outside), Layer.provide(Ground))

/** With SVC_WORKERS, the process that owns the embedded parts and the flag ports, and starts the workers. */
const Parent = layerWorkers.pipe(
  Layer.provide(operations.layerOfParent),
  Layer.provide(Outside),
  Layer.provide([layerPrimary, Shutdown.layer]),
  Layer.provide(Ground)
)

/** A worker serves the API. Its environment describes the parts of its parent, as it would a replica's servers. */
const Worker = layerReady.pipe(
  Layer.provide(Api),
  Layer.provide(OutsideOfWorker),
  Layer.provide(layerWorker),
  Layer.provide(Ground)
)

export const start = () =>
  workerNumber === undefined
    ? run(
        Layer.unwrap(
          Effect.map(
            Effect.tapCause(workerCount, () => failWithFaults),
            (count) => (count === 1 ? Service : Parent)
          )
        )
      )
    : run(Worker, reportFailure)

if (import.meta.main) start()
