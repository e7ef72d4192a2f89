import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ChartHistory } from "../../services/charts/History.ts"
import { Api } from "../Api.ts"

export const ChartsHandlers = HttpApiBuilder.group(
  Api,
  "charts",
  Effect.fn(function* (handlers) {
    const charts = yield* ChartHistory
    return handlers.handleAll({ read: ({ query }) => charts.read(query) })
  })
)
