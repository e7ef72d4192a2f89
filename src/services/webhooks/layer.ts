import { Layer } from "effect"
import { WebhookAttempts } from "./Attempts.ts"
import { layerWebhookDeliveries } from "./Deliveries.ts"
import { WebhookOutbox } from "./Outbox.ts"
import { layerWebhookRetention } from "./Retention.ts"
import { Webhooks } from "./Webhooks.ts"
import { WebhookSender } from "./Sender.ts"
import { WebhookTriggers } from "./Triggers.ts"

/** `Webhooks` and `WebhookAttempts`, and the workers that deliver. */
export const layerWebhooks = Layer.mergeAll(
  Webhooks.layer,
  WebhookAttempts.layer,
  layerWebhookDeliveries,
  layerWebhookRetention
).pipe(Layer.provide(Layer.mergeAll(WebhookOutbox.layer, WebhookSender.layer, WebhookTriggers.layer)))
