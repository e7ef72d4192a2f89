import { Layer } from "effect"
import { WebhookAttempts } from "./Attempts.ts"
import { layerWebhookDeliveries } from "./Deliveries.ts"
import { WebhookQueue } from "./Queue.ts"
import { layerWebhookRetention } from "./Retention.ts"
import { Webhooks } from "./Webhooks.ts"
import { WebhookSender } from "./Sender.ts"
import { WebhookTriggers } from "./Triggers.ts"

/** Webhooks, and the workers that deliver them. */
export const layer = Layer.mergeAll(
  Webhooks.layer,
  WebhookAttempts.layer,
  layerWebhookDeliveries,
  layerWebhookRetention
).pipe(Layer.provide(Layer.mergeAll(WebhookQueue.layer, WebhookSender.layer, WebhookTriggers.layer)))
