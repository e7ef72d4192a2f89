import { Clock, Effect } from "effect"
import { version } from "../../domain/Version.ts"
import { isSuccess, maxPayload, type WebhookReply } from "../../domain/webhooks/Delivery.ts"
import { signatureHeaders } from "../../domain/webhooks/Headers.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { inCall } from "../Tracing.ts"
import { WebhookTransport } from "../ports/WebhookTransport.ts"

/** A message and its destination. */
export interface Outgoing {
  /** A uuid, the same for every attempt. */
  readonly message_id: string
  /** The JSON body; null when it is too large to be sent. */
  readonly payload: string | null
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string | null
}

const tooLarge: WebhookReply = {
  status: null,
  body: null,
  error: `Not sent: the payload exceeds ${maxPayload / 1024 / 1024} MiB`,
  retryAfter: undefined,
  latencyMillis: 0,
  final: true
}

/** Makes one attempt to deliver a message: signed, with the custom headers of its webhook. */
export const makeWebhookSender = Effect.gen(function* () {
  const transport = yield* WebhookTransport
  const meters = yield* CurrentMeters
  const [succeeded, failed] = (["succeeded", "failed"] as const).map((outcome) =>
    meters.counter("svc_webhook_deliveries_total", { outcome })
  ) as [() => void, () => void]
  return Effect.fnUntraced(function* ({ headers, message_id, payload, secret, url }: Outgoing) {
    if (payload === null) {
      failed()
      return tooLarge
    }
    const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const reply = yield* inCall(
      { name: "webhook.delivery", kind: "producer", attributes: { "messaging.message.id": `msg_${message_id}` } },
      (trace) =>
        transport.post({
          url,
          body: payload,
          headers: {
            "user-agent": `svc-webhooks/${version}`,
            ...lowerCased(headers),
            "content-type": "application/json",
            ...trace,
            ...signatureHeaders(secret, `msg_${message_id}`, seconds, payload)
          }
        }),
      ({ status }) => status
    )
    if (isSuccess(reply)) succeeded()
    else failed()
    return reply
  })
})

/** Names are in lower case so that a custom header never duplicates one of the service's. */
const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
