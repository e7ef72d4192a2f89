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
  component: lazyRouteComponent(() => import("./sql/SqlPage.tsx"), "SqlPage")
})
const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/KeysPage.tsx"), "KeysPage")
})

export const router = createRouter({
  routeTree: root.addChildren([home, tables, table, sql, keys]),
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
