import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Schedule = Wire["GET /api/schedules/"]["success"][number]
export type Run = Wire["GET /api/schedules/:id/runs"]["success"][number]

/** A run that happens while the page is open is shown within this many ms. */
const live = 1500

export const useSchedules = () =>
  useQuery({
    queryKey: ["schedules"],
    queryFn: ({ signal }) => call("GET /api/schedules/", { signal }),
    refetchInterval: 5000
  })

export const useSchedule = (id: number) =>
  useQuery({
    queryKey: ["schedules", id],
    queryFn: ({ signal }) => call("GET /api/schedules/:id", { params: { id }, signal }),
    refetchInterval: live
  })

/** Entries of a page of the history. */
export const pageSize = 50

/** The history before a run, newest first; without one, from the newest. */
export const useRuns = (id: number, before: number | undefined) =>
  useQuery({
    queryKey: ["schedules", id, "runs", before ?? "newest"],
    queryFn: ({ signal }) =>
      call("GET /api/schedules/:id/runs", {
        params: { id },
        query: { limit: pageSize, ...(before === undefined ? {} : { before }) },
        signal
      }),
    refetchInterval: before === undefined ? live : false
  })

/** The next times of an expression; fails with a sentence for one that is invalid. */
export const useTimes = (cron: string, timezone: string) =>
  useQuery({
    queryKey: ["schedule-times", cron, timezone],
    queryFn: ({ signal }) => call("GET /api/schedules/times", { query: { cron, timezone }, signal }),
    enabled: cron.trim() !== "",
    retry: false
  })

export const nameOf = ({ id, name }: Schedule) => name ?? `Schedule ${id}`

/** How a run or a schedule is, as the kind of a badge and its words. */
export const stateOf = (status: Run["status"]): readonly [kind: string, words: string] => {
  switch (status) {
    case "succeeded":
      return ["good", "succeeded"]
    case "failed":
    case "interrupted":
      return ["bad", status]
    case "skipped":
      return ["warn", status]
    default:
      return ["", status]
  }
}
