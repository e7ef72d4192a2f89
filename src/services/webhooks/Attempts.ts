import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { maxPayload } from "../../domain/webhooks/Delivery.ts"
import {
  type WebhookAttempt,
  type WebhookId,
  type WebhookOutcome,
  webhookNotFound
} from "../../domain/webhooks/Webhook.ts"
import { onOwnTables } from "../OwnTables.ts"
import { type Attempted, makeWebhookOutbox } from "./Outbox.ts"
import { makeWebhookSender } from "./Sender.ts"

const Target = Schema.Struct({
  url: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  secret: Schema.NullOr(Schema.String),
  table_schema: Schema.String,
  table_name: Schema.String,
  format: Schema.String
})

/** The body of a test. */
const testPayload = ({ format, table_name: table, table_schema: schema }: typeof Target.Type, at: DateTime.Utc) =>
  JSON.stringify(
    format === "supabase"
      ? { type: "TEST", table, schema, record: null, old_record: null }
      : { event: "TEST", schema, table, row: null, old_row: null, timestamp: DateTime.formatIso(at) }
  )

/** A message to be sent outside the queue. */
const Stored = Schema.Struct({
  id: Schema.String,
  message_id: Schema.String,
  payload: Schema.String,
  event_type: Schema.String,
  attempt: Schema.Int
})

/** Payload bytes on one page of the log, which its last entry may exceed. */
const maxPage = 4 * 1024 * 1024

/**
 * A page of log entries as one JSON text, newest first. $1: webhook, $2: limit, $3: return entries below this id, or null,
 * $4: return only those that succeeded, or failed, or null.
 */
const logsSql = `
  select '[' || coalesce(string_agg(entry, ',' order by id desc), '') || ']' as body from (
    select l.id, json_build_object('id', l.id, 'webhook_id', l.webhook_id, 'event_type', l.event_type,
        'payload', case when l.size <= ${maxPayload} then m.payload::json end,
        'status_code', l.status_code, 'response_body', coalesce(l.response_body, ''), 'error', l.error, 'latency_ms', l.latency_ms,
        'attempt', l.attempt, 'message_id', 'msg_' || m.message_id::text,
        'created_at', ${isoSql("l.created_at")})::text as entry
    from (
      select *, sum(size) over (order by id desc) - size as before from (
        select l.*, octet_length(m.payload) as size
        from svc.webhook_logs l join svc.webhook_messages m on m.id = l.message_id
        where l.webhook_id = $1 and l.id < coalesce($3::text::int8, 9223372036854775807)
          and ($4::bool is null or $4 = coalesce(l.status_code between 200 and 299, false))
        order by l.id desc limit $2::int) sized) l
      join svc.webhook_messages m on m.id = l.message_id
    where l.before < ${maxPage}) page`

/** A page of the log. `limit`: default 50. `before`: only entries with lower ids. */
export interface WebhookLogPage {
  readonly limit?: number | undefined
  readonly before?: number | undefined
  readonly outcome?: WebhookOutcome | undefined
}

/** The delivery log, and deliveries on request: tests and replays. */
export class WebhookAttempts extends Context.Service<
  WebhookAttempts,
  {
    /** The newest entries: an array of `WebhookLog` as JSON text. */
    readonly logs: (id: WebhookId, page: WebhookLogPage) => Effect.Effect<string, NotFound | Unavailable>
    /** Sends a `TEST` event now, even if the webhook is inactive. Counts neither as success nor as failure. */
    readonly test: (id: WebhookId) => Effect.Effect<WebhookAttempt, NotFound | Unavailable>
    /** Sends the bytes of a log entry again, as the same message. */
    readonly replay: (id: WebhookId, logId: number) => Effect.Effect<WebhookAttempt, NotFound | Unavailable>
  }
>()("svc/services/WebhookAttempts") {
  static readonly layer = Layer.effect(
    WebhookAttempts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* makeWebhookOutbox
      const send = yield* makeWebhookSender

      const findTarget = SqlSchema.findOneOption({
        Request: Schema.Int,
        Result: Target,
        execute: (id) =>
          sql`select url, headers, secret, table_schema, table_name, format
              from svc.webhooks where id = ${id} and deleted_at is null`
      })
      const findStored = SqlSchema.findOneOption({
        Request: Schema.Struct({ id: Schema.Int, logId: Schema.String }),
        Result: Stored,
        execute: ({ id, logId }) =>
          sql`select m.id::text as id, m.message_id::text as message_id, m.payload, m.event_type,
                (select max(attempt) + 1 from svc.webhook_logs l where l.message_id = m.id) as attempt
              from svc.webhook_logs l join svc.webhook_messages m on m.id = l.message_id
              where l.id = ${logId}::text::int8 and l.webhook_id = ${id}`
      })
      const addTest = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Int, payload: Schema.String }),
        Result: Stored,
        execute: ({ id, payload }) =>
          sql`insert into svc.webhook_messages (webhook_id, event_type, payload, attempt, next_attempt_at)
              values (${id}, 'TEST', ${payload}, 1, null)
              returning id::text as id, message_id::text as message_id, payload, event_type, attempt`
      })

      const targetOf = (id: WebhookId) =>
        Effect.flatMap(onOwnTables(findTarget(id)), (found) =>
          Effect.mapError(Effect.fromOption(found), () => webhookNotFound(id))
        )

      const logs = Effect.fn("WebhookAttempts.logs")(function* (id: WebhookId, page: WebhookLogPage) {
        const { before, limit = 50, outcome } = page
        yield* targetOf(id)
        const [row] = yield* onOwnTables(
          sql.unsafe<{ readonly body: string }>(logsSql, [
            id,
            limit,
            before === undefined ? null : String(before),
            outcome === undefined ? null : outcome === "succeeded"
          ])
        )
        return row?.body ?? "[]"
      })

      /** Sends and logs. Uninterruptible once it has begun: the receiver may already have the message. */
      const make = (
        webhook: WebhookId,
        { headers, secret, url }: typeof Target.Type,
        { attempt, event_type, id, message_id, payload }: typeof Stored.Type,
        kind: Attempted["kind"]
      ) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          const reply = yield* send({ message_id, payload, url, headers, secret })
          const { logs } = yield* onOwnTables(
            outbox.finish([{ id, webhook, event_type, attempt, claim: null, reply, at, kind }])
          )
          // There is no log entry if the webhook was deleted in the meantime, and its messages with it.
          const log = logs[0] ?? (yield* webhookNotFound(webhook))
          return {
            status_code: reply.status,
            response_body: reply.body ?? "",
            latency_ms: reply.latencyMillis,
            log_id: Number(log),
            error: reply.error
          }
        }).pipe(Effect.uninterruptible)

      const test = Effect.fn("WebhookAttempts.test")(function* (id: WebhookId) {
        const target = yield* targetOf(id)
        const payload = testPayload(target, yield* DateTime.now)
        return yield* make(
          id,
          target,
          yield* addTest({ id, payload }).pipe(Effect.catchTag("NoSuchElementError", Effect.die), onOwnTables),
          "test"
        )
      })

      const replay = Effect.fn("WebhookAttempts.replay")(function* (id: WebhookId, logId: number) {
        const target = yield* targetOf(id)
        const found = yield* onOwnTables(findStored({ id, logId: String(logId) }))
        if (Option.isNone(found)) {
          return yield* new NotFound({ error: `Webhook ${id} has no log entry ${logId}`, code: "LOG_NOT_FOUND" })
        }
        return yield* make(id, target, found.value, found.value.event_type === "TEST" ? "test" : "replay")
      })

      return WebhookAttempts.of({ logs, test, replay })
    })
  )
}
