import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Advisor } from "../../services/insights/Advisor.ts"
import { Insights } from "../../services/insights/Insights.ts"
import { Api } from "../Api.ts"

export const InsightsHandlers = HttpApiBuilder.group(
  Api,
  "insights",
  Effect.fn(function* (handlers) {
    const insights = yield* Insights
    const advisor = yield* Advisor
    return handlers.handleAll({
      report: () => insights.report,
      advise: ({ payload: { statement } }) => advisor.advise(statement)
    })
  })
)
