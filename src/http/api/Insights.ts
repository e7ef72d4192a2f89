import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { InsightReport } from "../../domain/insights/Insight.ts"
import { Management } from "../access/Access.ts"

/** Possible improvements to the main database. */
export class InsightsApi extends HttpApiGroup.make("insights")
  .add(
    HttpApiEndpoint.get("report", "/api/insights", {
      success: InsightReport,
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List what to improve in the main database",
        description: `Findings, the most severe first, each with a stable \`kind\`, its object, an explanation, and SQL that resolves it where
there is one. \`checks\` has every kind that was looked for; one that is \`unavailable\` has the reason. Reads PostgreSQL's catalogue and
statistics only, within about 10 s; at most 100 findings of a kind.`
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Insights" })) {}
