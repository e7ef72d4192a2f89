import { Clock, Context, Effect, Layer } from "effect"
import { maxPayload } from "../../domain/webhooks/QueueSql.ts"
import { type WebhookReply } from "../../domain/webhooks/Reply.ts"
import { signatureHeaders } from "../../domain/webhooks/Signature.ts"
import { WebhookTransport } from "../ports/WebhookTransport.ts"

/** A message and where it goes. */
export interface Outgoing {
  /** A uuid, the same at every attempt. */
  readonly message_id: string
  /** The bytes that are sent, as text; null when they are too many. */
  readonly payload: string | null
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string | null
}

const tooLarge: WebhookReply = {
  status: null,
  body: null,
  error: `Not sent: the payload is larger than ${maxPayload / 1024 / 1024} MiB`,
  retryAfter: undefined,
  latencyMillis: 0,
  final: true
}

/** One attempt to deliver a message: signed, with the webhook's own headers. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  { readonly send: (message: Outgoing) => Effect.Effect<WebhookReply> }
>()("svc/services/WebhookSender") {
  static readonly layer = Layer.effect(
    WebhookSender,
    Effect.gen(function* () {
      const transport = yield* WebhookTransport
      const send = Effect.fnUntraced(function* ({ headers, message_id, payload, secret, url }: Outgoing) {
        if (payload === null) return tooLarge
        const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        return yield* transport.post({
          url,
          body: payload,
          headers: {
            "user-agent": "svc-webhooks/0.1.0",
            ...lowerCased(headers),
            "content-type": "application/json",
            ...signatureHeaders(secret, `msg_${message_id}`, seconds, payload)
          }
        })
      })
      return WebhookSender.of({ send })
    })
  )
}

/** So that one of ours and one of theirs are never both sent. */
const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
