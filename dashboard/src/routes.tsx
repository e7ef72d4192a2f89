import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router"
import { NotFound } from "./shell/NotFound.tsx"
import { PageFailure } from "./shell/PageFailure.tsx"
import { parseSearch, type Search, stringifySearch } from "./shell/search.ts"
import { Shell } from "./shell/Shell.tsx"

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
const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/KeysPage.tsx"), "KeysPage")
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

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    tables,
    table,
    sql,
    keys,
    webhooks,
    webhook,
    realtime,
    branches,
    backups,
    backup,
    status,
    flags,
    flag,
    segments,
    buckets,
    bucket,
    bucketSettings,
    schema,
    policies,
    tablePolicies
  ]),
  basepath: "/dashboard",
  defaultPreload: "intent",
  defaultErrorComponent: PageFailure,
  parseSearch,
  stringifySearch
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
