import { Clock, Effect, Layer } from "effect"
import { functionOfUrl } from "../../domain/functions/Function.ts"
import { loggedText } from "../../domain/webhooks/Delivery.ts"
import { FunctionInvoker } from "../ports/functions/FunctionInvoker.ts"
import { type WebhookRequest, WebhookTransport } from "../ports/WebhookTransport.ts"

/** Requests to `function://<name>` call that function from within the service; all others are sent as before. */
export const layerFunctionTargets = Layer.effect(
  WebhookTransport,
  Effect.gen(function* () {
    const outside = yield* WebhookTransport
    const { invoke } = yield* FunctionInvoker

    const called = Effect.fnUntraced(function* (name: string, { body, headers }: WebhookRequest) {
      const from = yield* Clock.currentTimeMillis
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
      const reply = yield* Effect.result(invoke(name, { headers: lower, body }))
      return { reply, latencyMillis: (yield* Clock.currentTimeMillis) - from }
    })

    return WebhookTransport.of({
      post: (request) => {
        const name = functionOfUrl(request.url)
        if (name === undefined) return outside.post(request)
        return Effect.map(called(name, request), ({ latencyMillis, reply }) =>
          reply._tag === "Failure"
            ? { status: null, body: null, error: reply.failure.error, retryAfter: undefined, latencyMillis }
            : {
                status: reply.success.status,
                body: loggedText(reply.success.body),
                error: null,
                retryAfter: reply.success.headers["retry-after"],
                latencyMillis
              }
        )
      },
      call: outside.call
    })
  })
)
