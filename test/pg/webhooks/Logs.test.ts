import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { WebhookAttempts } from "../../../src/services/webhooks/Attempts.ts"
import { layerWebhookRetention } from "../../../src/services/webhooks/Retention.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { hook, layerWebhooks } from "../../support/webhooks/webhooks.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))

interface Entry {
  readonly id: number
  readonly payload: { readonly row: { readonly t: string } } | null
}
const page = (id: Parameters<Webhooks["Service"]["find"]>[0], limit: number, before?: number) =>
  Effect.map(
    Effect.flatMap(WebhookAttempts, (attempts) => attempts.logs(id, { limit, before })),
    (text) => JSON.parse(text) as ReadonlyArray<Entry>
  )

/** Completed messages, each with a log entry; `$1`: webhook, `$2`: count, `$3`: age. */
const history = `with m as (
    insert into svc.webhook_messages (webhook_id, event_type, payload, next_attempt_at, created_at)
    select $1::int, 'INSERT', '{"row":{"t":"x"}}', null, now() - $3::interval from generate_series(1, $2::int) returning id)
  insert into svc.webhook_logs (webhook_id, message_id, attempt, event_type, status_code, latency_ms, created_at)
  select $1::int, id, 1, 'INSERT', 200, 1, now() - $3::interval from m`
const waitingSql = `insert into svc.webhook_messages (webhook_id, event_type, payload, next_attempt_at)
  select $1::int, 'INSERT', '{}', now() - $3::interval from generate_series(1, $2::int)`

layer(layerWebhooks({ name: "webhook_logs" }), live)("the log", (it) => {
  it.effect("is paged by size, and omits payloads that are too large", () =>
    Effect.gen(function* () {
      yield* sql("create table wide (t text)")
      const { id } = yield* hook("wide")
      for (const mebibytes of [1, 3, 3, 11, 3, 9]) {
        yield* sql("insert into wide values (repeat('x', $1 * 1024 * 1024))", [mebibytes])
      }
      yield* sql(`insert into svc.webhook_logs (webhook_id, message_id, attempt, event_type, latency_ms)
        select webhook_id, id, 1, event_type, 0 from svc.webhook_messages order by id`)
      const sizes: Array<ReadonlyArray<number | null>> = []
      let before: number | undefined
      for (;;) {
        const entries: ReadonlyArray<Entry> = yield* page(id, 50, before)
        if (entries.length === 0) break
        sizes.push(entries.map(({ payload }) => (payload === null ? null : payload.row.t.length / 1024 / 1024)))
        before = entries.at(-1)?.id
      }
      assert.deepStrictEqual(sizes, [[9], [3, null], [3, 3], [1]])
    })
  )

  it.effect("is summed up in the webhook's record, and filtered by outcome", () =>
    Effect.gen(function* () {
      yield* sql("create table summed (t text)")
      const hooks = yield* Webhooks
      const attempts = yield* WebhookAttempts
      const { id, last_attempt, waiting } = yield* hook("summed", { active: false })
      assert.deepStrictEqual([waiting, last_attempt], [0, null])
      yield* sql(waitingSql, [id, 3, "1 hour"])
      yield* sql(history, [id, 2, "1 hour"])
      const codes = [500, null, 204, 302]
      for (const code of codes) {
        yield* sql(
          `insert into svc.webhook_logs (webhook_id, message_id, attempt, event_type, status_code, error, latency_ms)
           select webhook_id, min(id), 1, 'INSERT', $2::int, case when $2::int is null then 'No response' end, 7
           from svc.webhook_messages where webhook_id = $1::int group by 1`,
          [id, code]
        )
      }
      const shown = yield* hooks.find(id)
      assert.strictEqual(shown.waiting, 3)
      assert.deepInclude(shown.last_attempt, { status_code: 302, error: null, latency_ms: 7 })
      assert.match(String(shown.last_attempt?.created_at), /^\d{4}-.*Z$/)
      assert.deepInclude(
        (yield* hooks.list).find((other) => other.id === id),
        { waiting: 3 }
      )
      const statuses = (outcome: "succeeded" | "failed") =>
        Effect.map(attempts.logs(id, { outcome }), (text) =>
          (JSON.parse(text) as ReadonlyArray<{ readonly status_code: number | null }>).map((log) => log.status_code)
        )
      assert.deepStrictEqual(yield* statuses("succeeded"), [204, 200, 200])
      assert.deepStrictEqual(yield* statuses("failed"), [302, null, 500])
    })
  )

  it.effect("keeps 1,000 entries for 30 days, and their messages; the rest is deleted in the background", () =>
    Effect.gen(function* () {
      yield* sql("create table kept (t text)")
      const [busy, quiet, off, gone] = [
        yield* hook("kept"),
        yield* hook("kept"),
        yield* hook("kept", { active: false }),
        yield* hook("kept")
      ]
      yield* sql("delete from svc.webhook_messages")
      yield* sql(history, [busy.id, 1_100, "1 hour"])
      yield* sql(history, [quiet.id, 5, "31 days"])
      yield* sql(history, [quiet.id, 3, "29 days"])
      yield* sql(waitingSql, [off.id, 4, "31 days"])
      yield* sql(waitingSql, [off.id, 6, "29 days"])
      yield* sql(history, [gone.id, 7, "1 hour"])
      yield* sql(waitingSql, [gone.id, 8, "1 hour"])
      // A message with old attempts that will be retried.
      yield* sql(
        "update svc.webhook_messages set next_attempt_at = now() where id = (select min(id) from svc.webhook_messages where webhook_id = $1)",
        [quiet.id]
      )
      yield* Effect.flatMap(Webhooks, (webhooks) => webhooks.remove(gone.id))
      yield* Layer.build(Layer.fresh(layerWebhookRetention))
      const left = sql(`select w.id, (select count(*)::int from svc.webhook_logs where webhook_id = w.id) as logs,
          (select count(*)::int from svc.webhook_messages where webhook_id = w.id) as messages
        from svc.webhooks w where w.table_name = 'kept' order by w.id`)
      const wanted = [
        { id: busy.id, logs: 1_000, messages: 1_000 },
        { id: quiet.id, logs: 3, messages: 4 },
        { id: off.id, logs: 0, messages: 6 },
        { id: gone.id, logs: 0, messages: 0 }
      ]
      assert.deepStrictEqual(yield* eventually(left, (rows) => JSON.stringify(rows) === JSON.stringify(wanted)), wanted)
      const newest = yield* page(busy.id, 500)
      assert.lengthOf(newest, 500)
    })
  )

  it.effect("is deleted with its webhook, whose row is deleted last", () =>
    Effect.gen(function* () {
      yield* sql("create table leaving (t text)")
      const { id } = yield* hook("leaving", { secret: "hush", headers: { a: "b" } })
      yield* Effect.flatMap(Webhooks, (webhooks) => webhooks.remove(id))
      const [row] = yield* sql("select secret, headers, url, active from svc.webhooks where id = $1", [id])
      assert.deepStrictEqual(row, { secret: null, headers: {}, url: "", active: false })
      yield* sql("update svc.webhooks set deleted_at = now() - interval '2 hours' where id = $1", [id])
      yield* Layer.build(Layer.fresh(layerWebhookRetention))
      yield* eventually(sql("select from svc.webhooks where id = $1", [id]), (rows) => rows.length === 0)
    })
  )
})
