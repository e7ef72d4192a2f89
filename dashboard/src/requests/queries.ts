import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Logged = Wire["GET /api/requests"]["success"]["requests"][number]
export type Counts = Wire["GET /api/requests/minutes"]["success"]
export type Minute = Counts["minutes"][number]
export type RouteCounts = Counts["routes"][number]

/** ms between readings of a live list. */
const interval = 2000

/** The address of the page: the parameters of the API, but for `dashboard`, which the page leaves out unless it is asked. */
export interface Filters {
  readonly status?: string
  readonly path?: string
  readonly route?: string
  readonly method?: string
  readonly key?: string
  readonly slower_than?: string
  readonly dashboard?: string
}

const dashboardOf = ({ dashboard }: Filters) => ({ dashboard: dashboard === "true" ? "true" : "false" }) as const

/** What of the address the service refuses is an error of the service's, and shown. */
const listQuery = ({ key, slower_than, ...filters }: Filters) => ({
  ...filters,
  ...dashboardOf(filters),
  ...(key === undefined ? {} : { key: Number(key) }),
  ...(slower_than === undefined ? {} : { slower_than: Number(slower_than) })
})

const minutesQuery = (filters: Filters) => ({
  ...(filters.route === undefined ? {} : { route: filters.route }),
  ...(filters.method === undefined ? {} : { method: filters.method }),
  ...dashboardOf(filters)
})

export const pathOf = (filters: Filters) => {
  const query = new URLSearchParams(Object.entries(listQuery(filters)).map(([name, value]) => [name, String(value)]))
  return `/api/requests?${query.toString()}`
}

export const useRequests = (filters: Filters, live: boolean) =>
  useQuery({
    queryKey: ["requests", "list", filters],
    queryFn: ({ signal }) => call("GET /api/requests", { query: listQuery(filters), signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live ? interval : false,
    retry: false
  })

export const useCounts = (filters: Filters, live: boolean) => {
  const query = minutesQuery(filters)
  return useQuery({
    queryKey: ["requests", "minutes", query],
    queryFn: ({ signal }) => call("GET /api/requests/minutes", { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live ? interval : false,
    retry: false
  })
}
