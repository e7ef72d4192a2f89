import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import { parseFaithful } from "../wire/exact.ts"
import type { Wire } from "../wire/Wire.ts"

export type Queue = Wire["GET /api/queues/"]["success"][number]
export type Message = Wire["GET /api/queues/:queue/messages"]["success"][number]
export type Place = "queue" | "dead" | "archive"

/** Messages that come while the page is open are shown within this many ms. */
const live = 3000

export const useQueues = () =>
  useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /api/queues/", { signal }),
    refetchInterval: live
  })

export const useQueue = (queue: string) =>
  useQuery({
    queryKey: ["queues", queue],
    queryFn: ({ signal }) => call("GET /api/queues/:queue", { params: { queue }, signal }),
    refetchInterval: live
  })

/** Messages of a page. */
export const pageSize = 50

export const useMessages = (queue: string, place: Place, before: number | undefined) =>
  useQuery({
    queryKey: ["queues", queue, "messages", place, before ?? "newest"],
    queryFn: ({ signal }) =>
      call("GET /api/queues/:queue/messages", {
        params: { queue },
        query: { place, limit: pageSize, ...(before === undefined ? {} : { before }) },
        signal,
        parse: parseFaithful
      }),
    refetchInterval: before === undefined ? live : false
  })

/** The age in words of the largest unit that fits. */
export const ageOf = (seconds: number | null) => {
  if (seconds === null) return "–"
  const [size, unit] = (
    [
      [86_400, "d"],
      [3_600, "h"],
      [60, "min"]
    ] as const
  ).find(([size]) => seconds >= size) ?? [1, "s"]
  return `${Math.floor(seconds / size)} ${unit}`
}
