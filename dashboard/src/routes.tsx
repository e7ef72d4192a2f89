import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router"
import { NotFound } from "./shell/NotFound.tsx"
import { PageFailure } from "./shell/PageFailure.tsx"
import { parseSearch, type Search, stringifySearch } from "./shell/search.ts"
import { Shell } from "./shell/Shell.tsx"
import { placeRewrite } from "./wire/place.ts"

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })
const validateSearch = (given: Record<string, unknown>) => given as Search

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/tables", search: {} })
  }
})
const tablesPage = lazyRouteComponent(() => import("./tables/TablesPage.tsx"), "TablesPage")
const tables = createRoute({ getParentRoute: () => root, path: "/tables", component: tablesPage, validateSearch })
const table = createRoute({
  getParentRoute: () => root,
  path: "/tables/$schema/$table",
  component: tablesPage,
  validateSearch
})
const sql = createRoute({
  getParentRoute: () => root,
  path: "/sql",
  component: lazyRouteComponent(() => import("./sql/SqlPage.tsx"), "SqlPage"),
  validateSearch
})
const boards = createRoute({
  getParentRoute: () => root,
  path: "/boards",
  component: lazyRouteComponent(() => import("./sql/boards/BoardsPage.tsx"), "BoardsPage")
})
const board = createRoute({
  getParentRoute: () => root,
  path: "/boards/$board",
  component: lazyRouteComponent(() => import("./sql/boards/BoardPage.tsx"), "BoardPage")
})
const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/KeysPage.tsx"), "KeysPage")
})
const people = createRoute({
  getParentRoute: () => root,
  path: "/people",
  component: lazyRouteComponent(() => import("./people/PeoplePage.tsx"), "PeoplePage"),
  validateSearch
})
const person = createRoute({
  getParentRoute: () => root,
  path: "/people/$id",
  component: lazyRouteComponent(() => import("./people/PersonPage.tsx"), "PersonPage")
})
const mails = createRoute({
  getParentRoute: () => root,
  path: "/mails",
  component: lazyRouteComponent(() => import("./people/MailsPage.tsx"), "MailsPage"),
  validateSearch
})
const oauthClients = createRoute({
  getParentRoute: () => root,
  path: "/clients",
  component: lazyRouteComponent(() => import("./oauth/ClientsPage.tsx"), "ClientsPage")
})
const oauthClient = createRoute({
  getParentRoute: () => root,
  path: "/clients/$client",
  component: lazyRouteComponent(() => import("./oauth/ClientPage.tsx"), "ClientPage")
})
const oauthClaims = createRoute({
  getParentRoute: () => root,
  path: "/claims",
  component: lazyRouteComponent(() => import("./oauth/ClaimsPage.tsx"), "ClaimsPage")
})
const webhooks = createRoute({
  getParentRoute: () => root,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./webhooks/WebhooksPage.tsx"), "WebhooksPage")
})
const webhook = createRoute({
  getParentRoute: () => root,
  path: "/webhooks/$webhook",
  component: lazyRouteComponent(() => import("./webhooks/WebhookPage.tsx"), "WebhookPage"),
  validateSearch
})
const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  component: lazyRouteComponent(() => import("./schedules/SchedulesPage.tsx"), "SchedulesPage")
})
const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$schedule",
  component: lazyRouteComponent(() => import("./schedules/SchedulePage.tsx"), "SchedulePage")
})
const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  component: lazyRouteComponent(() => import("./queues/QueuesPage.tsx"), "QueuesPage")
})
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$queue",
  component: lazyRouteComponent(() => import("./queues/QueuePage.tsx"), "QueuePage")
})
const connectApp = createRoute({
  getParentRoute: () => root,
  path: "/connect",
  component: lazyRouteComponent(() => import("./connect/AppPage.tsx"), "AppPage"),
  validateSearch
})
const connectAssistant = createRoute({
  getParentRoute: () => root,
  path: "/assistant",
  component: lazyRouteComponent(() => import("./connect/AssistantPage.tsx"), "AssistantPage"),
  validateSearch
})
const functions = createRoute({
  getParentRoute: () => root,
  path: "/functions",
  component: lazyRouteComponent(() => import("./functions/FunctionsPage.tsx"), "FunctionsPage")
})
const functionPage = createRoute({
  getParentRoute: () => root,
  path: "/functions/$function",
  component: lazyRouteComponent(() => import("./functions/FunctionPage.tsx"), "FunctionPage")
})
const realtime = createRoute({
  getParentRoute: () => root,
  path: "/realtime",
  component: lazyRouteComponent(() => import("./realtime/RealtimePage.tsx"), "RealtimePage"),
  validateSearch
})
const branches = createRoute({
  getParentRoute: () => root,
  path: "/branches",
  component: lazyRouteComponent(() => import("./copies/BranchesPage.tsx"), "BranchesPage")
})
const compare = createRoute({
  getParentRoute: () => root,
  path: "/branches/$branch/compare",
  component: lazyRouteComponent(() => import("./copies/compare/ComparePage.tsx"), "ComparePage"),
  validateSearch
})
const schemaChanges = createRoute({
  getParentRoute: () => root,
  path: "/branches/$branch/schema",
  component: lazyRouteComponent(() => import("./copies/schema/SchemaPage.tsx"), "SchemaPage")
})
const backups = createRoute({
  getParentRoute: () => root,
  path: "/backups",
  component: lazyRouteComponent(() => import("./copies/BackupsPage.tsx"), "BackupsPage")
})
const backup = createRoute({
  getParentRoute: () => root,
  path: "/backups/$backup",
  component: lazyRouteComponent(() => import("./copies/BackupPage.tsx"), "BackupPage")
})
const protection = createRoute({
  getParentRoute: () => root,
  path: "/protection",
  component: lazyRouteComponent(() => import("./copies/protection/ProtectionPage.tsx"), "ProtectionPage")
})
const insights = createRoute({
  getParentRoute: () => root,
  path: "/insights",
  component: lazyRouteComponent(() => import("./insights/InsightsPage.tsx"), "InsightsPage")
})
const requests = createRoute({
  getParentRoute: () => root,
  path: "/requests",
  component: lazyRouteComponent(() => import("./requests/RequestsPage.tsx"), "RequestsPage"),
  validateSearch
})
const logs = createRoute({
  getParentRoute: () => root,
  path: "/logs",
  component: lazyRouteComponent(() => import("./logs/LogsPage.tsx"), "LogsPage"),
  validateSearch
})
const history = createRoute({
  getParentRoute: () => root,
  path: "/history",
  component: lazyRouteComponent(() => import("./history/HistoryPage.tsx"), "HistoryPage"),
  validateSearch
})
const status = createRoute({
  getParentRoute: () => root,
  path: "/status",
  component: lazyRouteComponent(() => import("./status/StatusPage.tsx"), "StatusPage"),
  validateSearch
})

const flags = createRoute({
  getParentRoute: () => root,
  path: "/flags",
  component: lazyRouteComponent(() => import("./flags/FlagsPage.tsx"), "FlagsPage")
})
const flag = createRoute({
  getParentRoute: () => root,
  path: "/flags/$key",
  component: lazyRouteComponent(() => import("./flags/FlagPage.tsx"), "FlagPage"),
  validateSearch
})
const segments = createRoute({
  getParentRoute: () => root,
  path: "/segments",
  component: lazyRouteComponent(() => import("./flags/SegmentsPage.tsx"), "SegmentsPage")
})
const buckets = createRoute({
  getParentRoute: () => root,
  path: "/storage",
  component: lazyRouteComponent(() => import("./storage/BucketsPage.tsx"), "BucketsPage")
})
const bucket = createRoute({
  getParentRoute: () => root,
  path: "/storage/$bucket",
  component: lazyRouteComponent(() => import("./storage/BucketPage.tsx"), "BucketPage"),
  validateSearch
})
const bucketSettings = createRoute({
  getParentRoute: () => root,
  path: "/storage/$bucket/settings",
  component: lazyRouteComponent(() => import("./storage/settings/SettingsPage.tsx"), "SettingsPage")
})
const extensions = createRoute({
  getParentRoute: () => root,
  path: "/extensions",
  component: lazyRouteComponent(() => import("./schema/extensions/ExtensionsPage.tsx"), "ExtensionsPage"),
  validateSearch
})
const schema = createRoute({
  getParentRoute: () => root,
  path: "/schema",
  component: lazyRouteComponent(() => import("./schema/SchemaPage.tsx"), "SchemaPage"),
  validateSearch
})
const policies = createRoute({
  getParentRoute: () => root,
  path: "/policies",
  component: lazyRouteComponent(() => import("./policies/PoliciesPage.tsx"), "PoliciesPage")
})
const tablePolicies = createRoute({
  getParentRoute: () => root,
  path: "/policies/$schema/$table",
  component: lazyRouteComponent(() => import("./policies/TablePolicies.tsx"), "TablePolicies")
})
const environments = createRoute({
  getParentRoute: () => root,
  path: "/environments",
  component: lazyRouteComponent(() => import("./environments/EnvironmentsPage.tsx"), "EnvironmentsPage")
})
const connections = createRoute({
  getParentRoute: () => root,
  path: "/connections",
  component: lazyRouteComponent(() => import("./connections/ConnectionsPage.tsx"), "ConnectionsPage")
})
const foreign = createRoute({
  getParentRoute: () => root,
  path: "/foreign",
  component: lazyRouteComponent(() => import("./foreign/ForeignPage.tsx"), "ForeignPage")
})
const migrations = createRoute({
  getParentRoute: () => root,
  path: "/migrations",
  component: lazyRouteComponent(() => import("./migrations/MigrationsPage.tsx"), "MigrationsPage")
})
const migration = createRoute({
  getParentRoute: () => root,
  path: "/migrations/$name",
  component: lazyRouteComponent(() => import("./migrations/MigrationPage.tsx"), "MigrationPage"),
  validateSearch
})
const api = createRoute({
  getParentRoute: () => root,
  path: "/api",
  component: lazyRouteComponent(() => import("./reference/ApiPage.tsx"), "ApiPage")
})
const tableApi = createRoute({
  getParentRoute: () => root,
  path: "/api/$schema/$name",
  component: lazyRouteComponent(() => import("./reference/CallsPage.tsx"), "TableCallsPage"),
  validateSearch
})
const functionApi = createRoute({
  getParentRoute: () => root,
  path: "/api/rpc/$schema/$name",
  component: lazyRouteComponent(() => import("./reference/CallsPage.tsx"), "FunctionCallsPage"),
  validateSearch
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    tables,
    table,
    sql,
    boards,
    board,
    keys,
    functions,
    functionPage,
    webhooks,
    queues,
    queue,
    webhook,
    schedules,
    schedule,
    realtime,
    connectApp,
    connectAssistant,
    branches,
    compare,
    schemaChanges,
    backups,
    backup,
    protection,
    people,
    person,
    mails,
    oauthClients,
    oauthClient,
    oauthClaims,
    insights,
    requests,
    logs,
    history,
    status,
    flags,
    flag,
    segments,
    buckets,
    bucket,
    bucketSettings,
    schema,
    extensions,
    policies,
    tablePolicies,
    environments,
    connections,
    foreign,
    migrations,
    migration,
    api,
    tableApi,
    functionApi
  ]),
  basepath: "/dashboard",
  defaultPreload: "intent",
  defaultErrorComponent: PageFailure,
  parseSearch,
  stringifySearch,
  rewrite: placeRewrite
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
