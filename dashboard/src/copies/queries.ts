import { useQuery } from "@tanstack/react-query"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Branch = Wire["GET /api/branches/"]["success"][number]

/** ms between reads while something is in progress, and otherwise: branches expire, and the schedule makes backups. */
const [quick, slow] = [1000, 15_000]

/** Also those that are being filled. */
export const useBranches = () =>
  useQuery({
    queryKey: ["branches", "all"],
    queryFn: ({ signal }) => call("GET /api/branches/", { query: { all: "true" }, signal }),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status !== "active") === true ? quick : slow)
  })

/** Why a branch was not created; undefined if it is there, or was dropped. */
export const failureOf = async (id: number): Promise<string | undefined> => {
  try {
    await call("GET /api/branches/:id", { params: { id } })
  } catch (error) {
    if (error instanceof ApiError && typeof error.body.details === "string") return error.body.details
  }
  return undefined
}

export type Backup = Wire["GET /api/backups/"]["success"][number]
export type Restore = Backup["restores"][number]

/** Whether something about it changes by itself. */
const isMoving = (backup: Backup | undefined) =>
  backup !== undefined &&
  (backup.status === "in_progress" ||
    backup.verification === "running" ||
    backup.restores.some(({ status }) => status === "in_progress"))

export const useBackups = () =>
  useQuery({
    queryKey: ["backups"],
    queryFn: ({ signal }) => call("GET /api/backups/", { signal }),
    refetchInterval: ({ state }) => (state.data?.some(isMoving) === true ? quick : slow)
  })

export const useBackup = (id: number) =>
  useQuery({
    queryKey: ["backups", id],
    queryFn: ({ signal }) => call("GET /api/backups/:id", { params: { id }, signal }),
    refetchInterval: ({ state }) => (isMoving(state.data) ? quick : slow)
  })
