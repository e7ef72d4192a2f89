import { Layer } from "effect"
import { WebhookAttempts } from "./WebhookAttempts.ts"
import { layerWebhookDeliveries } from "./WebhookDeliveries.ts"
import { WebhookQueue } from "./WebhookQueue.ts"
import { layerWebhookRetention } from "./WebhookRetention.ts"
import { Webhooks } from "./Webhooks.ts"
import { WebhookSender } from "./WebhookSender.ts"
import { WebhookTriggers } from "./WebhookTriggers.ts"

/** `Webhooks` and `WebhookAttempts`, and the workers that deliver. */
export const layerWebhooks = Layer.mergeAll(
  Webhooks.layer,
  WebhookAttempts.layer,
  layerWebhookDeliveries,
  layerWebhookRetention
).pipe(Layer.provide(Layer.mergeAll(WebhookQueue.layer, WebhookSender.layer, WebhookTriggers.layer)))
