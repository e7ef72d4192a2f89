import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { RealtimeEvent, RealtimeGap } from "../../domain/realtime/Event.ts"
import { RealtimeStatus, RealtimeSubscription, RealtimeTable } from "../../domain/realtime/Subscription.ts"
import { isStorable } from "../../domain/text/StorableText.ts"
import { Management } from "../access/Access.ts"
import { clientErrors } from "./Errors.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const Name = Schema.NonEmptyString.check(Schema.isMaxCodePoints(1000), isStorable)
const table = Schema.Struct({ schema: Schema.optionalKey(Name), table: Name })
/** The id of the last event the client has received; only later events are returned. */
const Since = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** Subscriptions and the event log (spec: Realtime). */
export class RealtimeApi extends HttpApiGroup.make("realtime")
  .add(
    HttpApiEndpoint.post("subscribe", "/subscribe", {
      payload: table,
      success: [RealtimeSubscription.pipe(HttpApiSchema.status(201)), RealtimeSubscription],
      error: [NotFound, InvalidRequest, Conflict, Forbidden, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Subscribe to a table's row changes; 200 if it is already subscribed" })
    ),
    HttpApiEndpoint.delete("unsubscribe", "/subscribe", {
      payload: table,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Unsubscribe from a table's row changes" })),
    HttpApiEndpoint.get("subscriptions", "/subscriptions", {
      success: Schema.Array(RealtimeSubscription),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List subscriptions" })),
    HttpApiEndpoint.get("status", "/status", { success: RealtimeStatus }).annotateMerge(
      OpenApi.annotations({ summary: "Show the status of the feed in this process" })
    ),
    HttpApiEndpoint.get("events", "/events", {
      query: { since: Schema.optionalKey(Since) },
      success: Schema.Array(Schema.Union([RealtimeEvent, RealtimeGap]))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the last 200 events, newest first",
        description:
          "With `since`, only events after that id, followed by a gap if the log does not reach back that far."
      })
    ),
    HttpApiEndpoint.post("clearLog", "/clear-log", { success: Success, error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "Empty the event log" })
    ),
    HttpApiEndpoint.get("tables", "/tables", {
      success: Schema.Array(RealtimeTable),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List the tables that can be subscribed to" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/realtime")
  .annotateMerge(OpenApi.annotations({ title: "Realtime", description: "Row changes, sent to WebSocket clients" })) {}

/** This contract is for documentation only: http/handlers/RealtimeSocket.ts serves the route. */
export class RealtimeSocketApi extends HttpApiGroup.make("realtimeSocket")
  .add(
    HttpApiEndpoint.get("connect", "/realtime", {
      query: {
        apikey: Schema.optionalKey(Schema.String),
        jwt: Schema.optionalKey(Schema.String),
        since: Schema.optionalKey(Since)
      },
      success: HttpApiSchema.Empty(101),
      error: clientErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "WebSocket: row changes as JSON text messages",
        description:
          "Each message is an event. Browsers send the API key and the user's JWT in the query. With `since`, the events after that id come first, preceded by a gap if some are missing."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Realtime feed", description: "The WebSocket" })) {}
