import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import {
  NewWebhook,
  Webhook,
  WebhookAttempt,
  WebhookChange,
  WebhookId,
  WebhookLog,
  WebhookOutcome
} from "../../domain/webhooks/Webhook.ts"
import { Management, ServiceRole } from "../access/Access.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const params = { id: WebhookId }
const LogId = Schema.Int

/** Webhooks and their deliveries (spec: Webhooks). */
export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(Webhook), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List webhooks" })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: NewWebhook,
      success: Webhook.pipe(HttpApiSchema.status(201)),
      error: [NotFound, InvalidRequest, Conflict, Forbidden, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Create a webhook; its secret is never returned" })),
    HttpApiEndpoint.get("find", "/:id", { params, success: Webhook, error: [NotFound, Unavailable] }).annotateMerge(
      OpenApi.annotations({ summary: "Show a webhook" })
    ),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: asRecordChange(WebhookChange, Webhook),
      success: Webhook,
      error: [NotFound, InvalidRequest, Conflict, Forbidden, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Change a webhook",
        description: "`active: true` also resets `fail_count`, `disabled_at` and `disabled_reason`."
      })
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a webhook, its pending messages and its log" })),
    HttpApiEndpoint.post("test", "/:id/test", {
      params,
      success: WebhookAttempt,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Send a TEST event now and return the response of the receiver" })),
    HttpApiEndpoint.get("logs", "/:id/logs", {
      params,
      query: {
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
        before: Schema.optionalKey(LogId.check(Schema.isGreaterThan(0))),
        outcome: Schema.optionalKey(WebhookOutcome)
      },
      success: Schema.Array(WebhookLog),
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List delivery attempts, newest first",
        description:
          "`limit` defaults to 50. For the next page, set `before` to the last log id. `outcome=failed`: only attempts that the receiver did not answer with 2xx."
      })
    ),
    HttpApiEndpoint.post("replay", "/:id/replay/:logId", {
      params: { ...params, logId: LogId },
      success: WebhookAttempt,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Send the payload of a log entry again" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/webhooks")
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Row changes, sent to HTTP receivers" })) {}

/** The webhook records for callers of the client API. */
export class ClientWebhooksApi extends HttpApiGroup.make("clientWebhooks")
  .add(
    HttpApiEndpoint.get("list", "/v1/webhooks", { success: Schema.Array(Webhook), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List webhooks" })
    ),
    HttpApiEndpoint.get("find", "/v1/webhooks/:id", {
      params,
      success: Webhook,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show a webhook" }))
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks (client API)", description: "Read access to webhooks" })) {}
