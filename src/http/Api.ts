import { HttpApi, OpenApi } from "effect/http-api"
import { version } from "../domain/Version.ts"
import { AccountAdminApi } from "./api/AccountAdmin.ts"
import { AccountsApi, SigningKeysApi } from "./api/Accounts.ts"
import { AuditApi } from "./api/Audit.ts"
import { AuthApi } from "./api/Auth.ts"
import { BackupsApi } from "./api/Backups.ts"
import { ChangesApi } from "./api/Changes.ts"
import { ChartsApi } from "./api/Charts.ts"
import { ConnectionsApi } from "./api/Connections.ts"
import { BranchesApi } from "./api/Branches.ts"
import { BranchRowsApi } from "./api/BranchRows.ts"
import { BranchSchemasApi } from "./api/BranchSchemas.ts"
import { DashboardApi } from "./api/Dashboard.ts"
import { DatabaseSchemasApi } from "./api/DatabaseSchemas.ts"
import { EnvironmentsApi } from "./api/Environments.ts"
import { FlagChangesApi, FlagsApi } from "./api/Flags.ts"
import { FunctionsApi } from "./api/Functions.ts"
import { ForeignDataApi } from "./api/ForeignData.ts"
import { HealthApi } from "./api/Health.ts"
import { IdentitiesApi } from "./api/Identities.ts"
import { ClientKeysApi, KeysApi } from "./api/Keys.ts"
import { LogsApi } from "./api/Logs.ts"
import { InsightsApi } from "./api/Insights.ts"
import { MigrationsApi } from "./api/Migrations.ts"
import { OAuth2AdminApi, OAuth2BridgeApi, OAuth2ConsentsApi } from "./api/OAuth2.ts"
import { ProvidersApi } from "./api/Providers.ts"
import { QueuesApi } from "./api/Queues.ts"
import { RealtimeApi } from "./api/Realtime.ts"
import { RecoveryApi } from "./api/Recovery.ts"
import { RequestsApi } from "./api/Requests.ts"
import { SettingsApi } from "./api/Settings.ts"
import { StatusApi } from "./api/Status.ts"
import { ClientStorageApi, StorageApi, StorageObjectsApi, StorageUploadsApi } from "./api/Storage.ts"
import { SchedulesApi } from "./api/Schedules.ts"
import { ClientWebhooksApi, WebhooksApi } from "./api/Webhooks.ts"
import { WorkspaceApi } from "./api/Workspace.ts"
import { RequestErrors } from "./wire/RequestErrors.ts"

/** All endpoints that HttpApi serves. Rows, functions and SQL are routes of the router; http/OpenApi.ts joins both. */
export class Api extends HttpApi.make("svc")
  .add(HealthApi)
  .add(StatusApi)
  .add(SettingsApi)
  .add(InsightsApi)
  .add(ChangesApi)
  .add(RequestsApi)
  .add(ChartsApi)
  .add(LogsApi)
  .add(AuditApi)
  .add(DatabaseSchemasApi)
  .add(ClientKeysApi)
  .add(KeysApi)
  .add(RealtimeApi)
  .add(ClientWebhooksApi)
  .add(WebhooksApi)
  .add(SchedulesApi)
  .add(QueuesApi)
  .add(ClientStorageApi)
  .add(StorageApi)
  .add(StorageObjectsApi)
  .add(StorageUploadsApi)
  .add(FlagsApi)
  .add(FlagChangesApi)
  .add(AuthApi)
  .add(AccountsApi)
  .add(ProvidersApi)
  .add(SigningKeysApi)
  .add(AccountAdminApi)
  .add(IdentitiesApi)
  .add(OAuth2BridgeApi)
  .add(OAuth2ConsentsApi)
  .add(OAuth2AdminApi)
  .add(MigrationsApi)
  .add(BranchesApi)
  .add(BranchRowsApi)
  .add(BranchSchemasApi)
  .add(RecoveryApi)
  .add(BackupsApi)
  .add(EnvironmentsApi)
  .add(ConnectionsApi)
  .add(ForeignDataApi)
  .add(FunctionsApi)
  .add(DashboardApi)
  .add(WorkspaceApi)
  .middleware(RequestErrors)
  // Reports every invalid field, not only the first, and unknown ones: a misspelt limit must not be ignored.
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(OpenApi.annotations({ title: "Backend platform", version })) {}
