import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { type WebhookAttempt, type WebhookId } from "../../domain/webhooks/Webhook.ts"
import { logsSql } from "../../domain/webhooks/LogSql.ts"
import { onOwnTables } from "../OwnTables.ts"
import { type Attempted, WebhookOutbox } from "./Outbox.ts"
import { type Outgoing, WebhookSender } from "./Sender.ts"

interface Target extends Pick<Outgoing, "url" | "headers" | "secret"> {
  readonly table_schema: string
  readonly table_name: string
}

/** What is sent again. */
interface Stored extends Pick<Outgoing, "message_id" | "payload"> {
  readonly id: string
  readonly event_type: string
  readonly attempt: number
}

const noWebhook = (id: number) => new NotFound({ error: `No webhook ${id}`, code: "WEBHOOK_NOT_FOUND" })

/** The log of deliveries, and those that somebody asks for: tests and replays. */
export class WebhookAttempts extends Context.Service<
  WebhookAttempts,
  {
    /** The newest `limit` entries, of those older than `before`: an array of `WebhookLog` as JSON text. */
    readonly logs: (
      id: WebhookId,
      limit: number,
      before: number | undefined
    ) => Effect.Effect<string, NotFound | Unavailable>
    /** Sends a `TEST` event now, also when the webhook is not active. Counts neither as success nor as failure. */
    readonly test: (id: WebhookId) => Effect.Effect<WebhookAttempt, NotFound | Unavailable>
    /** Sends the very bytes of a log entry again, as the same message. */
    readonly replay: (id: WebhookId, logId: number) => Effect.Effect<WebhookAttempt, NotFound | Unavailable>
  }
>()("svc/services/WebhookAttempts") {
  static readonly layer = Layer.effect(
    WebhookAttempts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* WebhookOutbox
      const sender = yield* WebhookSender

      const targetOf = Effect.fnUntraced(function* (id: WebhookId) {
        const [target] = yield* onOwnTables(
          sql.unsafe<Target>(
            `select url, headers, secret, table_schema, table_name
             from svc.webhooks where id = $1 and deleted_at is null`,
            [id]
          )
        )
        return target ?? (yield* noWebhook(id))
      })

      const logs = Effect.fn("WebhookAttempts.logs")(function* (
        id: WebhookId,
        limit: number,
        before: number | undefined
      ) {
        yield* targetOf(id)
        const [row] = yield* onOwnTables(
          sql.unsafe<{ readonly body: string }>(logsSql, [id, limit, before === undefined ? null : String(before)])
        )
        return row?.body ?? "[]"
      })

      /** Sends and logs. Once it has begun nobody can stop it: the receiver may have it already. */
      const make = (id: WebhookId, target: Target, stored: Stored, kind: Attempted["kind"]) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          const { message_id, payload } = stored
          const { headers, secret, url } = target
          const reply = yield* sender.send({ message_id, payload, url, headers, secret })
          const { attempt, event_type } = stored
          const written = yield* onOwnTables(
            queue.finish([{ id: stored.id, webhook: id, event_type, attempt, claim: null, reply, at, kind }])
          )
          // The webhook was removed meanwhile, and its messages with it.
          const log = written.logs[0] ?? (yield* noWebhook(id))
          return {
            status_code: reply.status,
            response_body: reply.body,
            latency_ms: reply.latencyMillis,
            log_id: Number(log),
            error: reply.error
          }
        }).pipe(Effect.uninterruptible)

      const test = Effect.fn("WebhookAttempts.test")(function* (id: WebhookId) {
        const target = yield* targetOf(id)
        const payload = JSON.stringify({
          event: "TEST",
          schema: target.table_schema,
          table: target.table_name,
          row: null,
          old_row: null,
          timestamp: DateTime.formatIso(yield* DateTime.now)
        })
        const [message] = yield* onOwnTables(
          sql.unsafe<{ readonly id: string; readonly message_id: string }>(
            `insert into svc.webhook_messages (webhook_id, event_type, payload, attempt, next_attempt_at)
             values ($1, 'TEST', $2, 1, null) returning id::text as id, message_id::text as message_id`,
            [id, payload]
          )
        )
        if (message === undefined) return yield* Effect.die("insert … returning gave nothing")
        return yield* make(id, target, { ...message, payload, event_type: "TEST", attempt: 1 }, "test")
      })

      const replay = Effect.fn("WebhookAttempts.replay")(function* (id: WebhookId, logId: number) {
        const target = yield* targetOf(id)
        const [stored] = yield* onOwnTables(
          sql.unsafe<Stored>(
            `select m.id::text as id, m.message_id::text as message_id, m.payload, m.event_type,
               (select max(attempt) + 1 from svc.webhook_logs l where l.message_id = m.id) as attempt
             from svc.webhook_logs l join svc.webhook_messages m on m.id = l.message_id
             where l.id = $1::text::int8 and l.webhook_id = $2`,
            [String(logId), id]
          )
        )
        if (stored === undefined) {
          return yield* new NotFound({ error: `No log entry ${logId} of webhook ${id}`, code: "LOG_NOT_FOUND" })
        }
        return yield* make(id, target, stored, stored.event_type === "TEST" ? "test" : "replay")
      })

      return WebhookAttempts.of({ logs, test, replay })
    })
  )
}
