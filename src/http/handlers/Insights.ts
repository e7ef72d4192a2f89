import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Insights } from "../../services/insights/Insights.ts"
import { Api } from "../Api.ts"

export const InsightsHandlers = HttpApiBuilder.group(
  Api,
  "insights",
  Effect.fn(function* (handlers) {
    const insights = yield* Insights
    return handlers.handleAll({ report: () => insights.report })
  })
)
