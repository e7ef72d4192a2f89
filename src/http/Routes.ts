import { type Context, Layer } from "effect"
import { type HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./Api.ts"
import { AccountAdminHandlers } from "./handlers/AccountAdmin.ts"
import { AuditHandlers } from "./handlers/Audit.ts"
import { AccountRoutes } from "./handlers/accounts/Account.ts"
import { RecoveryRoutes } from "./handlers/accounts/Recovery.ts"
import { SignInRoutes } from "./handlers/accounts/SignIn.ts"
import { AccountsHandlers, SigningKeysHandlers } from "./handlers/Accounts.ts"
import { ApiDescriptionsRoutes } from "./handlers/ApiDescriptions.ts"
import { AuthHandlers } from "./handlers/Auth.ts"
import { BackupsHandlers } from "./handlers/Backups.ts"
import { ConnectionsHandlers } from "./handlers/Connections.ts"
import { BranchesHandlers } from "./handlers/Branches.ts"
import { BranchRowsHandlers } from "./handlers/BranchRows.ts"
import { BranchSchemasHandlers } from "./handlers/BranchSchemas.ts"
import { ConsentPageRoutes } from "./handlers/ConsentPage.ts"
import { DashboardHandlers } from "./handlers/Dashboard.ts"
import { DashboardFilesRoutes } from "./handlers/DashboardFiles.ts"
import { DatabaseSchemasHandlers } from "./handlers/DatabaseSchemas.ts"
import { DocsRoutes } from "./handlers/Docs.ts"
import { EnvironmentsHandlers } from "./handlers/Environments.ts"
import { ExamplePageRoutes } from "./handlers/ExamplePage.ts"
import { FlagEvaluationRoutes } from "./handlers/FlagEvaluation.ts"
import { FlagChangesHandlers, FlagsHandlers } from "./handlers/Flags.ts"
import { ForeignDataHandlers } from "./handlers/ForeignData.ts"
import { FunctionCallsRoutes } from "./handlers/FunctionCalls.ts"
import { FunctionsHandlers } from "./handlers/Functions.ts"
import { StoredFunctionsRoutes } from "./handlers/StoredFunctions.ts"
import { HealthHandlers } from "./handlers/Health.ts"
import { IdentitiesHandlers } from "./handlers/Identities.ts"
import { ChangesHandlers } from "./handlers/Changes.ts"
import { InsightsHandlers } from "./handlers/Insights.ts"
import { ClientKeysHandlers, KeysHandlers } from "./handlers/Keys.ts"
import { LogoutPageRoutes } from "./handlers/LogoutPage.ts"
import { NoticePagesRoutes } from "./handlers/NoticePages.ts"
import { AdministratorRoutes } from "./handlers/accounts/Administrator.ts"
import { ProviderRoutes } from "./handlers/accounts/Provider.ts"
import { ProvidersHandlers } from "./handlers/Providers.ts"
import { McpRoutes } from "./handlers/Mcp.ts"
import { MigrationsHandlers } from "./handlers/Migrations.ts"
import { OAuth2AdminHandlers, OAuth2BridgeHandlers, OAuth2ConsentsHandlers } from "./handlers/OAuth2.ts"
import { OAuth2EndpointsRoutes } from "./handlers/OAuth2Endpoints.ts"
import { OfrepRoutes } from "./handlers/Ofrep.ts"
import { QueuesHandlers, QueuesRoutes } from "./handlers/Queues.ts"
import { RealtimeHandlers } from "./handlers/Realtime.ts"
import { RealtimeSocket } from "./handlers/RealtimeSocket.ts"
import { RecoveryHandlers } from "./handlers/Recovery.ts"
import { RequestsHandlers } from "./handlers/Requests.ts"
import { RowsRoutes } from "./handlers/Rows.ts"
import { SqlRoutes } from "./handlers/Sql.ts"
import { SettingsHandlers } from "./handlers/Settings.ts"
import { StatusHandlers } from "./handlers/Status.ts"
import {
  ClientStorageHandlers,
  StorageHandlers,
  StorageObjectsHandlers,
  StorageUploadsHandlers
} from "./handlers/Storage.ts"
import { ChartsHandlers } from "./handlers/Charts.ts"
import { LogsHandlers } from "./handlers/Logs.ts"
import { SchedulesHandlers } from "./handlers/Schedules.ts"
import { WorkspaceHandlers } from "./handlers/Workspace.ts"
import { ClientWebhooksHandlers, WebhooksHandlers } from "./handlers/Webhooks.ts"
import { ApiGate } from "./access/ApiGate.ts"
import { layerAnyKeyOrSession, layerManagement, layerServiceRole } from "./access/Access.ts"
import { ClientGate } from "./access/ClientGate.ts"
import { KeyLimits } from "./access/KeyLimits.ts"
import { BroadcastRoutes } from "./supabase/Broadcasts.ts"
import { SupabaseFunctionsRoutes } from "./supabase/Functions.ts"
import { AuthAdminRoutes } from "./supabase/auth/Admin.ts"
import { AuthFactorRoutes } from "./supabase/auth/Factors.ts"
import { AuthPasskeyRoutes } from "./supabase/auth/Passkeys.ts"
import { AuthProviderRoutes } from "./supabase/auth/Providers.ts"
import { AuthSignInRoutes } from "./supabase/auth/SignIn.ts"
import { AuthUserRoutes } from "./supabase/auth/User.ts"
import { AuthVerifyRoutes } from "./supabase/auth/Verify.ts"
import { SupabaseGate } from "./supabase/Gate.ts"
import { SupabaseSurfaces } from "./supabase/Surfaces.ts"
import { ChannelSocketRoute } from "./supabase/Realtime.ts"
import { FileBucketsRoutes } from "./supabase/storage/Buckets.ts"
import { FilesRoutes } from "./supabase/storage/Objects.ts"
import { ResumableRoutes } from "./supabase/storage/Resumable.ts"
import { Front } from "./front/Front.ts"
import { Surfaces } from "./front/Surfaces.ts"
import { McpSurface } from "./mcp/Surface.ts"
import { ManagementAudit } from "./access/ManagementAudit.ts"
import { PageAudit } from "./access/PageAudit.ts"
import { layerRequestErrors } from "./wire/RequestErrors.ts"
import { layerBranchObjects } from "./storage/BranchObjects.ts"
import { layerUtf8Bodies } from "./wire/Body.ts"
import { layerBrowserRequests, layerSessionNeeded } from "./access/BrowserRequests.ts"
import { methodsOf } from "./OpenApi.ts"
import { RealtimeGate } from "./access/RealtimeGate.ts"

const ApiRoutes = HttpApiBuilder.layer(Api).pipe(
  Layer.provide([
    HealthHandlers,
    StatusHandlers,
    SettingsHandlers,
    InsightsHandlers,
    ChangesHandlers,
    RequestsHandlers,
    ChartsHandlers,
    LogsHandlers,
    AuditHandlers,
    DatabaseSchemasHandlers,
    ClientKeysHandlers,
    KeysHandlers,
    RealtimeHandlers,
    ClientWebhooksHandlers,
    WebhooksHandlers,
    SchedulesHandlers,
    QueuesHandlers,
    ClientStorageHandlers,
    StorageHandlers,
    StorageObjectsHandlers,
    StorageUploadsHandlers,
    FlagsHandlers,
    FlagChangesHandlers,
    AuthHandlers,
    AccountsHandlers,
    ProvidersHandlers,
    SigningKeysHandlers,
    AccountAdminHandlers,
    IdentitiesHandlers,
    OAuth2BridgeHandlers,
    OAuth2ConsentsHandlers,
    OAuth2AdminHandlers,
    EnvironmentsHandlers,
    ConnectionsHandlers,
    ForeignDataHandlers,
    BranchesHandlers,
    BranchRowsHandlers,
    BranchSchemasHandlers,
    BackupsHandlers,
    RecoveryHandlers,
    MigrationsHandlers,
    FunctionsHandlers,
    DashboardHandlers,
    WorkspaceHandlers
  ]),
  Layer.provide([
    layerManagement,
    layerAnyKeyOrSession,
    layerServiceRole,
    layerRequestErrors,
    layerUtf8Bodies,
    layerBranchObjects,
    layerBrowserRequests,
    layerSessionNeeded
  ])
)

/** All routes, behind the common middleware. */
export const Routes = Layer.mergeAll(
  ApiRoutes,
  SqlRoutes,
  ApiDescriptionsRoutes,
  RowsRoutes,
  StoredFunctionsRoutes,
  QueuesRoutes,
  OfrepRoutes,
  RealtimeSocket,
  FlagEvaluationRoutes,
  ConsentPageRoutes,
  SignInRoutes,
  RecoveryRoutes,
  ProviderRoutes,
  AdministratorRoutes,
  AccountRoutes,
  LogoutPageRoutes,
  NoticePagesRoutes,
  OAuth2EndpointsRoutes,
  DocsRoutes,
  DashboardFilesRoutes,
  ExamplePageRoutes,
  SupabaseFunctionsRoutes,
  FunctionCallsRoutes,
  BroadcastRoutes,
  AuthSignInRoutes,
  AuthVerifyRoutes,
  AuthUserRoutes,
  AuthProviderRoutes,
  AuthFactorRoutes,
  AuthPasskeyRoutes,
  AuthAdminRoutes,
  ChannelSocketRoute,
  FileBucketsRoutes,
  FilesRoutes,
  ResumableRoutes,
  McpRoutes,
  SupabaseSurfaces,
  McpSurface,
  Front(methodsOf)
).pipe(
  Layer.provide(Surfaces.layer),
  Layer.provide([ClientGate.layer, RealtimeGate.layer, SupabaseGate.layer, PageAudit.layer]),
  Layer.provide([ApiGate.layer, KeyLimits.layer, ManagementAudit.layer])
)

/**
 * The configuration of the router. Each path has exactly one spelling, because Front decides by prefix and must agree with
 * the router. A path parameter may be as long as a URL.
 */
export const routerConfig: Context.Service.Shape<typeof HttpRouter.RouterConfig> = {
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  caseSensitive: true,
  maxParamLength: 16 * 1024
}
