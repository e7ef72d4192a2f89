import { Context, type Effect } from "effect"
import { type WebhookReply } from "../../domain/webhooks/Delivery.ts"

export interface WebhookRequest {
  readonly url: string
  /** All headers except `Host` and `Content-Length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Port: one POST to a receiver. Redirects are not followed, the response is read only as far as it is logged, and a
 * receiver outside the public Internet is refused unless settings allow it. Implemented by layers/webhooks/Transport.ts.
 */
export class WebhookTransport extends Context.Service<
  WebhookTransport,
  {
    /** Never fails: errors are in the reply. Interruption drops the connection. */
    readonly post: (request: WebhookRequest) => Effect.Effect<WebhookReply>
  }
>()("svc/services/WebhookTransport") {}
