import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DatabaseError, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { Advice, AdviceRequest } from "../../domain/insights/advice/Advice.ts"
import { InsightReport } from "../../domain/insights/Insight.ts"
import { Management } from "../access/Access.ts"
import { Utf8Bodies } from "../wire/Body.ts"

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
    ),
    HttpApiEndpoint.post("advise", "/api/insights/advice", {
      payload: AdviceRequest,
      success: Advice,
      error: [InvalidRequest, DatabaseError, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Propose indexes for a statement",
        description: `The statement is planned, and never executed: one SELECT, UPDATE or DELETE, with \`$1\` and the like for
constants. An index is tried by the extension hypopg where the database has it; else on tables of at most 16 MiB in a transaction that is
rolled back, for which writers of the table wait; else its use is estimated from statistics. Each proposal has the planner's cost with it,
its size, and how many rows of the table are written in a second.`
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Insights" })) {}
