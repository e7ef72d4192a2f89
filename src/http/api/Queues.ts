import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, InvalidRequest, NotFound, NotImplemented, Unavailable } from "../../domain/errors.ts"
import {
  Acknowledging,
  Extending,
  MessagePlace,
  NewQueue,
  Queue,
  QueueChange,
  QueueMessage,
  QueueName,
  Receiving,
  Sending
} from "../../domain/queues/Queue.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { branchHeaders } from "../wire/BranchHeader.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { clientErrors } from "./Errors.ts"

const params = { queue: QueueName }
const MessageId = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))
const Count = Schema.Struct({ count: Schema.Int })

const failures = [NotFound, Conflict, NotImplemented, Unavailable] as const

/** Management of queues. */
export class QueuesApi extends HttpApiGroup.make("queues")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(Queue), error: failures }).annotateMerge(
      OpenApi.annotations({ summary: "List queues with their numbers" })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: NewQueue,
      success: Queue.pipe(HttpApiSchema.status(201)),
      error: failures
    }).annotateMerge(OpenApi.annotations({ summary: "Create a queue" })),
    HttpApiEndpoint.get("find", "/:queue", { params, success: Queue, error: failures }).annotateMerge(
      OpenApi.annotations({ summary: "Show a queue" })
    ),
    HttpApiEndpoint.patch("update", "/:queue", {
      params,
      payload: asRecordChange(QueueChange, Queue),
      success: Queue,
      error: failures
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Change after how many reads a message is a dead letter, and the function that consumes it"
      })
    ),
    HttpApiEndpoint.delete("remove", "/:queue", {
      params,
      success: Success,
      error: failures
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a queue with its messages and its archive" })),
    HttpApiEndpoint.post("purge", "/:queue/purge", {
      params,
      success: Count,
      error: failures
    }).annotateMerge(OpenApi.annotations({ summary: "Delete all messages of a queue" })),
    HttpApiEndpoint.get("messages", "/:queue/messages", {
      params,
      query: {
        place: Schema.optionalKey(MessagePlace),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
        before: Schema.optionalKey(MessageId)
      },
      success: Schema.Array(QueueMessage),
      error: failures
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List messages, newest first, without receiving them",
        description:
          "`place` is `queue`, `dead` for the dead letters, or `archive`; `limit` defaults to 50. For the next page, set `before` to the last `msg_id`."
      })
    ),
    HttpApiEndpoint.post("putBack", "/:queue/put-back", {
      params,
      payload: Schema.Struct({
        msg_ids: Schema.optionalKey(Schema.Array(MessageId).check(Schema.isMinLength(1), Schema.isMaxLength(1_000)))
      }),
      success: Count,
      error: failures
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Send dead letters to their queue again",
        description: "Without `msg_ids` all of them, 10,000 at a time."
      })
    ),
    HttpApiEndpoint.post("send", "/:queue/messages", {
      params,
      payload: Sending,
      success: Schema.Struct({ ids: Schema.Array(Schema.Int) }).pipe(HttpApiSchema.status(201)),
      error: [NotFound, InvalidRequest, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Send messages; see /v1/queues for the fields" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/queues")
  .annotateMerge(OpenApi.annotations({ title: "Queues", description: "Durable queues in PostgreSQL" })) {}

const message = { params, headers: branchHeaders, error: clientErrors }
const Ids = (name: string) => Schema.Struct({ [name]: Schema.Array(Schema.Int) })

/** The contract of `/v1/queues`; http/handlers/Queues.ts serves it on the router itself. */
export class ClientQueuesApi extends HttpApiGroup.make("clientQueues")
  .add(
    HttpApiEndpoint.post("send", "/v1/queues/:queue/send", {
      ...message,
      payload: Sending,
      success: Ids("ids").pipe(HttpApiSchema.status(201))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Send a message, or up to 1,000",
        description:
          "`delay` is the time in seconds after which the messages become visible. Messages of a `group` can be received in order."
      })
    ),
    HttpApiEndpoint.post("receive", "/v1/queues/:queue/receive", {
      ...message,
      payload: Receiving,
      success: Schema.Array(QueueMessage)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Receive messages",
        description:
          "Up to `max` (1) messages, which are invisible to others for `visibility` (30) seconds. If there are none, waits for `wait` (0) seconds, at most 20. `grouped` keeps the order of groups."
      })
    ),
    HttpApiEndpoint.post("ack", "/v1/queues/:queue/ack", {
      ...message,
      payload: Acknowledging,
      success: Ids("acked")
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Acknowledge messages, which deletes them, or keeps them in the archive",
        description:
          "Messages as they were received. With `read_ct`, only those that have not been received again since."
      })
    ),
    HttpApiEndpoint.post("extend", "/v1/queues/:queue/extend", {
      ...message,
      payload: Extending,
      success: Ids("extended")
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set for how many seconds from now messages are invisible; 0 returns them to the queue"
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Queues (client API)" })) {}
