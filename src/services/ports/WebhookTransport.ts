import { Context, type Effect } from "effect"
import { type WebhookReply } from "../../domain/webhooks/Reply.ts"

export interface WebhookRequest {
  readonly url: string
  /** All of them but `Host` and `Content-Length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Port: one POST to a receiver. Redirects are not followed, the response is read as far as it is logged, and a receiver
 * that is not on the public Internet is refused unless settings allow it.
 * Real layer: layers/WebhookTransportHttp.ts.
 */
export class WebhookTransport extends Context.Service<
  WebhookTransport,
  {
    /** Never fails: what went wrong is in the reply. Interrupting it drops the connection. */
    readonly post: (request: WebhookRequest) => Effect.Effect<WebhookReply>
  }
>()("svc/services/WebhookTransport") {}
