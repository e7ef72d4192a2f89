import { Context, type Effect } from "effect"
import { type WebhookReply } from "../../domain/webhooks/Delivery.ts"

export interface WebhookRequest {
  readonly url: string
  /** All headers except `Host` and `Content-Length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The response to a call whose body is read whole. */
export interface WebhookAnswer {
  /** Null when there was no complete response: see `error`. */
  readonly status: number | null
  readonly contentType: string | undefined
  /** Null when it is longer than the limit, or there was no response. */
  readonly body: Uint8Array | null
  /** Why there was no response; null when there was one. */
  readonly error: string | null
  readonly retryAfter: string | undefined
}

/**
 * Port: one POST to a receiver. Redirects are not followed, and a receiver outside the public Internet is refused unless
 * settings allow it. Neither ever fails: errors are in the reply. Interruption drops the connection. Implemented by
 * layers/webhooks/Transport.ts.
 */
export class WebhookTransport extends Context.Service<
  WebhookTransport,
  {
    /** A delivery, whose response is read only as far as it is logged. */
    readonly post: (request: WebhookRequest) => Effect.Effect<WebhookReply>
    /** A call whose response matters. `maxBytes`: the longest body that is read. */
    readonly call: (request: WebhookRequest, maxBytes: number) => Effect.Effect<WebhookAnswer>
  }
>()("svc/services/WebhookTransport") {}
