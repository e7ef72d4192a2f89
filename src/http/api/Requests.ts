import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MinutesQuery, RequestCounts, RequestList, RequestQuery } from "../../domain/requests/Request.ts"
import { Management } from "../access/Access.ts"

/** The latest requests, and counts of the last hour. */
export class RequestsApi extends HttpApiGroup.make("requests")
  .add(
    HttpApiEndpoint.get("list", "/api/requests", { query: RequestQuery, success: RequestList }).annotateMerge(
      OpenApi.annotations({
        summary: "List the latest requests, the newest first",
        description: `Of each process, the latest 1,000 requests and the latest 500 that failed or took a second; without queries, headers and
bodies. With \`SVC_WORKERS\`, of all workers: \`processes\` is how many answered. Kept in memory, so that a restart clears it; other replicas
have their own. Probes (\`/healthz\`, \`/readyz\`) and preflights are left out.`
      })
    ),
    HttpApiEndpoint.get("counts", "/api/requests/minutes", {
      query: MinutesQuery,
      success: RequestCounts
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Count the requests of the last hour, by minute and by route",
        description:
          "Requests, statuses, bytes and durations, of the same processes as the list; exact, while that has the latest only."
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Requests" })) {}
