import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WebhookAttempts } from "../../services/webhooks/Attempts.ts"
import { Webhooks } from "../../services/webhooks/Webhooks.ts"
import { Api } from "../Api.ts"
import { jsonAnswer, success } from "../wire/Body.ts"

export const WebhooksHandlers = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fn(function* (handlers) {
    const webhooks = yield* Webhooks
    const attempts = yield* WebhookAttempts
    return handlers.handleAll({
      list: () => webhooks.list,
      create: ({ payload }) => webhooks.create(payload),
      find: ({ params }) => webhooks.find(params.id),
      update: ({ params, payload }) => webhooks.update(params.id, payload),
      remove: ({ params }) => Effect.as(webhooks.remove(params.id), success),
      test: ({ params }) => attempts.test(params.id),
      // JSON text from PostgreSQL, because numbers may exceed JavaScript's precision.
      logs: ({ params, query }) => Effect.map(attempts.logs(params.id, query), (text) => jsonAnswer(text)),
      replay: ({ params }) => attempts.replay(params.id, params.logId)
    })
  })
)

export const ClientWebhooksHandlers = HttpApiBuilder.group(
  Api,
  "clientWebhooks",
  Effect.fn(function* (handlers) {
    const webhooks = yield* Webhooks
    return handlers.handleAll({ list: () => webhooks.list, find: ({ params }) => webhooks.find(params.id) })
  })
)
