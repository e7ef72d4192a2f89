import { ConfigProvider, Effect, Layer, Schedule } from "effect"
import { layerWebhookTransport } from "../../../src/layers/webhooks/Transport.ts"
import { type NewWebhook } from "../../../src/domain/webhooks/Webhook.ts"
import { WatchedTables } from "../../../src/services/catalogue/WatchedTables.ts"
import { WebhookAttempts } from "../../../src/services/webhooks/Attempts.ts"
import { layerWebhookDeliveries } from "../../../src/services/webhooks/Deliveries.ts"
import { WebhookOutbox } from "../../../src/services/webhooks/Outbox.ts"
import { WebhookSender } from "../../../src/services/webhooks/Sender.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { WebhookSettings } from "../../../src/services/webhooks/Settings.ts"
import { WebhookTriggers } from "../../../src/services/webhooks/Triggers.ts"
import { type DatabaseOptions, layerDatabase, Outside } from "../database.ts"
import { startReceiver } from "./receiver.ts"

/** Tries again soon, and may call loopback. */
const hasty = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_TIMEOUT: "20s", WEBHOOK_RETRY_SCHEDULE: "100ms,200ms" }

const settingsOf = (env: Readonly<Record<string, string>>) =>
  WebhookSettings.layer.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...hasty, ...env }))),
    Layer.orDie
  )

const parts = Layer.mergeAll(WebhookOutbox.layer, WebhookSender.layer).pipe(
  Layer.provideMerge(layerWebhookTransport.pipe(Layer.orDie))
)

/** Webhooks on a database of the test's own, without a worker. */
export const layerWebhooks = (options: DatabaseOptions) =>
  Layer.mergeAll(Webhooks.layer, WebhookAttempts.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(WebhookTriggers.layer, parts)),
    Layer.provideMerge(WatchedTables.layer),
    Layer.provide(settingsOf(options.settings ?? {})),
    Layer.provideMerge(layerDatabase(options))
  )

/** A worker of its own, until the scope closes. */
export const worker = (env: Readonly<Record<string, string>> = {}) =>
  Layer.build(
    Layer.fresh(layerWebhookDeliveries).pipe(
      Layer.provide(Layer.fresh(parts)),
      Layer.provide(Layer.fresh(settingsOf(env)))
    )
  )

/** A receiver until the scope closes. */
export const receiver = Effect.acquireDisposable(Effect.promise(() => startReceiver()))

/** A webhook of all events; its receiver is nowhere unless `given` says so. */
export const hook = (table: string, given: Partial<NewWebhook> = {}) =>
  Effect.flatMap(Webhooks, (webhooks) =>
    webhooks.create({ table_name: table, events: ["INSERT", "UPDATE", "DELETE"], url: "http://127.0.0.1:9/", ...given })
  )

/** What waits to be sent and was sent, oldest first, as `EVENT row|old_row` texts. */
export const outbox = (schemaAndTable?: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const rows = yield* sql(
      `select event_type || ' ' || coalesce(payload::json->>'row', '-') || '|' || coalesce(payload::json->>'old_row', '-') as line
       from svc.webhook_messages
       where $1::text is null or (payload::json->>'schema') || '.' || (payload::json->>'table') = $1 order by id`,
      [schemaAndTable ?? null]
    )
    return rows.map(({ line }) => String(line))
  })

/** Names of the webhook triggers that were made on a table (not those that a partition has from its parent). */
export const triggersOf = (table: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const rows = yield* sql(
      `select tgname from pg_trigger where tgrelid = $1::regclass and tgname like 'svc\\_wh\\_%' and tgparentid = 0 order by 1`,
      [table]
    )
    return rows.map(({ tgname }) => String(tgname).replace(/\d+$/, "N"))
  })

/** Asks again until it is so; fails after 10 s, or so many ms. */
export const eventually = <A, E, R>(ask: Effect.Effect<A, E, R>, good: (answer: A) => boolean, millis = 10_000) =>
  ask.pipe(
    Effect.filterOrFail(good, (answer) => answer),
    Effect.retry(Schedule.max([Schedule.spaced("25 millis"), Schedule.recurs(Math.ceil(millis / 25))])),
    Effect.orDie
  )
