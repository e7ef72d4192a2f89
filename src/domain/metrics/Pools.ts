import { type Sample, sampleOf } from "./Sample.ts"

/** How much of a pool is in use. */
export interface PoolUse {
  readonly open: number
  readonly busy: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** The most that it opens. */
  readonly limit: number
}

/** The use of a pool as metrics. `database`: the main one, all branches together, or all standbys. */
export const samplesOfPool = (
  database: "main" | "branch" | "standby",
  role: string,
  lane: string,
  { busy, limit, open, waiting }: PoolUse
): ReadonlyArray<Sample> => {
  const labels = { database, role, lane }
  return [
    sampleOf("svc_db_connections", { ...labels, state: "busy" }, busy),
    sampleOf("svc_db_connections", { ...labels, state: "idle" }, Math.max(0, open - busy)),
    sampleOf("svc_db_connections_limit", labels, limit),
    sampleOf("svc_db_waiting", labels, waiting)
  ]
}

/** The use of single connections outside all pools. */
export const samplesOfConnections = (
  database: "main" | "standby",
  lane: string,
  open: number,
  limit: number
): ReadonlyArray<Sample> => samplesOfPool(database, "service", lane, { open, busy: open, waiting: 0, limit })
