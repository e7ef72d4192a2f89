import { Layer } from "effect"
import { WebhookAttempts } from "./Attempts.ts"
import { layerWebhookDeliveries } from "./Deliveries.ts"
import { layerWebhookRetention } from "./Retention.ts"
import { Webhooks } from "./Webhooks.ts"

/** Webhooks, and the workers that deliver them. */
export const layer = Layer.mergeAll(
  Webhooks.layer,
  WebhookAttempts.layer,
  layerWebhookDeliveries,
  layerWebhookRetention
)
