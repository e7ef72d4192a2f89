import { type QueryClient, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"

/** The tables that publish their changes. `every`: ms after which they are read again. */
export const useSubscriptions = (every: number | false = 5000) =>
  useQuery({
    queryKey: ["realtime", "subscriptions"],
    queryFn: ({ signal }) => call("GET /api/realtime/subscriptions", { signal }),
    refetchInterval: every
  })

/** Makes a table publish its changes. */
export const follow = async (client: QueryClient, payload: { readonly schema: string; readonly table: string }) => {
  await call("POST /api/realtime/subscribe", { payload })
  await client.invalidateQueries({ queryKey: ["realtime"] })
}
