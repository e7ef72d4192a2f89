import { useInfiniteQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import { open } from "../wire/request.ts"
import type { Wire } from "../wire/Wire.ts"

export type Entry = Wire["GET /api/audit"]["success"]["entries"][number]

/** Entries of a page, and of a page of the CSV. */
const [pageSize, csvSize] = [100, 1000]

/** The address of the page: the parameters of the API. */
export interface Filters {
  readonly action?: string
  readonly subject?: string
  readonly actor?: string
  readonly outcome?: string
  readonly from?: string
  readonly to?: string
  readonly request_id?: string
}

/** What of the address the service refuses is an error of the service's, and shown. */
type Query = Wire["GET /api/audit"]["query"]

export const pathOf = (filters: Filters, more: Readonly<Record<string, string>> = {}) => {
  const query = new URLSearchParams({ ...filters, ...more }).toString()
  return `/api/audit${query === "" ? "" : `?${query}`}`
}

export const useHistory = (filters: Filters) =>
  useInfiniteQuery({
    queryKey: ["history", filters],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => {
      const query = { ...filters, limit: pageSize, ...(pageParam === 0 ? {} : { before: pageParam }) }
      return call("GET /api/audit", { query: query as Query, signal })
    },
    getNextPageParam: ({ next }) => next,
    retry: false
  })

/** All entries that match, as CSV, with one line of column names. */
export const readCsv = async (filters: Filters): Promise<Blob> => {
  const parts: Array<string> = []
  for (let before: string | null = ""; before !== null;) {
    const path = pathOf(filters, { limit: String(csvSize), ...(before === "" ? {} : { before }) })
    const response = await open(path, { headers: { accept: "text/csv" } })
    const text = await response.text()
    parts.push(parts.length === 0 ? text : text.slice(text.indexOf("\r\n") + 2))
    before = response.headers.get("x-next-before")
  }
  return new Blob(parts, { type: "text/csv" })
}
