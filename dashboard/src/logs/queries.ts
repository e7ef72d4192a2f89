import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type LogPage = Wire["GET /api/logs"]["success"]
export type Line = LogPage["lines"][number]
type Query = Wire["GET /api/logs"]["query"]

/** ms between readings of a live list; a search for a text reads all files. */
const [interval, longInterval] = [2000, 10_000]

/** The address of the page: the parameters of the API. */
export interface Filters {
  readonly source?: "service" | "database"
  readonly level?: Line["level"]
  readonly text?: string
  readonly request_id?: string
  readonly from?: string
  readonly to?: string
}

export const pathOf = (filters: Filters) => `/api/logs?${new URLSearchParams({ ...filters }).toString()}`

/** Pages, each with the lines before the last one of the page before. */
export const useLines = (filters: Filters, live: boolean) =>
  useInfiniteQuery({
    queryKey: ["logs", filters],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/logs", {
        query: { ...filters, ...(pageParam === undefined ? {} : { to: pageParam }) } satisfies Query,
        signal
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ lines, more }: LogPage) => (more ? lines.at(-1)?.at : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: live ? (filters.text === undefined ? interval : longInterval) : false,
    retry: false
  })
