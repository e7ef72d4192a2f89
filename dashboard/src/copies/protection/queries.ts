import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { ApiError, codeOf } from "../../wire/ApiError.ts"
import { call } from "../../wire/call.ts"
import { request } from "../../wire/request.ts"
import type { Wire } from "../../wire/Wire.ts"

export type Protection = Wire["GET /api/backups/pitr/"]["success"]
export type ChangesSince = Wire["GET /api/backups/pitr/changes"]["success"]

/** A trial restore by the service itself. */
export interface Drill {
  readonly id: number | string
  readonly started_at: string
  readonly finished_at: string | null
  readonly target_time: string
  readonly status: "running" | "passed" | "failed"
  readonly error: string | null
  /** How long the restore took, and what it found. */
  readonly seconds: number | null
  readonly tables: number | null
  readonly rows: number | null
}

/** ms between reads: how far the archive is behind should not be old itself. */
const interval = 5000

/** Null: the log is not archived. */
export const useProtection = () =>
  useQuery({
    queryKey: ["protection"],
    queryFn: async ({ signal }): Promise<Protection | null> => {
      try {
        return await call("GET /api/backups/pitr/", { signal })
      } catch (error) {
        if (codeOf(error) === "PITR_NOT_CONFIGURED") return null
        throw error
      }
    },
    refetchInterval: ({ state }) => (state.data === null ? false : interval)
  })

export const drillsPath = "/api/backups/pitr/drills"

/** The newest first. Null: this service makes none. */
export const useDrills = (enabled: boolean) =>
  useQuery({
    queryKey: ["protection", "drills"],
    queryFn: async ({ signal }): Promise<ReadonlyArray<Drill> | null> => {
      try {
        return (await request<{ readonly drills: ReadonlyArray<Drill> }>(drillsPath, { signal })).body.drills
      } catch (error) {
        if (error instanceof ApiError && [404, 501].includes(error.status)) return null
        throw error
      }
    },
    enabled,
    refetchInterval: ({ state }) =>
      state.data === null ? false : state.data?.[0]?.status === "running" ? 1000 : 30_000
  })

/** What has changed since a time, in ms since 1970; nothing is asked for undefined. */
export const useChanges = (since: number | undefined) =>
  useQuery({
    queryKey: ["protection", "changes", since],
    queryFn: ({ signal }) =>
      call("GET /api/backups/pitr/changes", { query: { since: new Date(since ?? 0).toISOString() }, signal }),
    enabled: since !== undefined,
    // PostgreSQL counts the latest changes after some seconds.
    refetchInterval: interval,
    placeholderData: keepPreviousData
  })
