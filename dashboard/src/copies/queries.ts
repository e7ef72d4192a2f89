import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Branch = Wire["GET /api/branches/"]["success"][number]

export const useBranches = () =>
  useQuery({
    queryKey: ["branches"],
    queryFn: ({ signal }) => call("GET /api/branches/", { signal }),
    refetchInterval: 10_000
  })

export type Backup = Wire["GET /api/backups/"]["success"][number]
export type Restore = Backup["restores"][number]

/** Whether something about it changes by itself. */
const isMoving = (backup: Backup | undefined) =>
  backup !== undefined &&
  (backup.status === "in_progress" || backup.restores.some(({ status }) => status === "in_progress"))

/** ms between reads while something is in progress, and otherwise: the schedule makes backups too. */
const [quick, slow] = [1000, 15_000]

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
