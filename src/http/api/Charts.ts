import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ChartQuery, Charts } from "../../domain/charts/Points.ts"
import { InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"

/** What was counted and measured in the last 30 days. */
export class ChartsApi extends HttpApiGroup.make("charts")
  .add(
    HttpApiEndpoint.get("read", "/api/charts", {
      query: ChartQuery,
      success: Charts,
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get requests, durations, connections and the size of the database over time",
        description: `Of all replicas together. \`step\` is in seconds: points of a minute are kept for a day, of ten minutes for 7 days, of an hour for 30
days. \`from\` and \`to\` default to the last hour. The current minute is recorded when it has ended.`
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Charts" })) {}
