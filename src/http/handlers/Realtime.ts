import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Realtime } from "../../services/realtime/Realtime.ts"
import { RealtimeSubscriptions } from "../../services/realtime/Subscriptions.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const RealtimeHandlers = HttpApiBuilder.group(
  Api,
  "realtime",
  Effect.fn(function* (handlers) {
    const realtime = yield* Realtime
    const subscriptions = yield* RealtimeSubscriptions
    return handlers.handleAll({
      subscribe: ({ payload }) =>
        Effect.map(subscriptions.subscribe(payload.schema ?? "public", payload.table), ({ created, subscription }) =>
          HttpServerResponse.jsonUnsafe(subscription, { status: created ? 201 : 200 })
        ),
      unsubscribe: ({ payload }) =>
        Effect.as(subscriptions.unsubscribe(payload.schema ?? "public", payload.table), success),
      subscriptions: () => subscriptions.list,
      status: () => realtime.status,
      // Sent as text, because numbers may exceed JavaScript's precision.
      events: ({ query }) =>
        Effect.map(realtime.recent(query.since), (texts) =>
          HttpServerResponse.text(`[${texts.join(",")}]`, { contentType: "application/json" })
        ),
      clearLog: () => Effect.as(realtime.clear, success),
      tables: () => subscriptions.tables
    })
  })
)
