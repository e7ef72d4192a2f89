import { type QueryClient, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"
import { takeOver } from "./items.ts"

export type Ran = Wire["GET /api/workspace/history"]["success"][number]
type NewRan = Wire["POST /api/workspace/history"]["payload"]["statements"][number]

/** Characters of a statement that the service remembers. */
const longest = 16_384

export const useRanStatements = () =>
  useQuery({
    queryKey: ["workspace", "history"],
    queryFn: async ({ signal }) => {
      await takeOver()
      return call("GET /api/workspace/history", { signal })
    }
  })

/** Remembers what has run. The page goes on without, if that fails. */
export const remember = async (client: QueryClient, ran: NewRan) => {
  if (ran.sql.length > longest || JSON.stringify(ran.values ?? {}).length > longest) return
  await call("POST /api/workspace/history", { payload: { statements: [ran] } }).catch(() => undefined)
  await client.invalidateQueries({ queryKey: ["workspace", "history"] })
}

export const forget = async (client: QueryClient) => {
  await call("DELETE /api/workspace/history")
  await client.invalidateQueries({ queryKey: ["workspace", "history"] })
}
