import { ConfigProvider, Effect, Layer } from "effect"
import { layerWebhookTransport } from "../../../src/layers/webhooks/Transport.ts"
import { type NewWebhook } from "../../../src/domain/webhooks/Webhook.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import * as changes from "../../../src/services/changes/layer.ts"
import { WebhookAttempts } from "../../../src/services/webhooks/Attempts.ts"
import { layerWebhookDeliveries } from "../../../src/services/webhooks/Deliveries.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { WebhookSettings } from "../../../src/services/webhooks/Settings.ts"
import { type DatabaseOptions, layerDatabase, Outside } from "../database.ts"
import { startReceiver } from "./receiver.ts"

/** Short retries, and loopback receivers allowed. */
const quick = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_TIMEOUT: "20s", WEBHOOK_RETRY_SCHEDULE: "100ms,200ms" }

const settingsOf = (env: Readonly<Record<string, string>>) =>
  WebhookSettings.layer.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...quick, ...env }))),
    Layer.orDie
  )

const transport = Layer.orDie(layerWebhookTransport)

/** Webhooks on the test's own database, without a worker. */
export const layerWebhooks = (options: DatabaseOptions) =>
  Layer.mergeAll(Webhooks.layer, WebhookAttempts.layer).pipe(
    Layer.provideMerge(transport),
    Layer.provideMerge(Layer.mergeAll(Catalogues.layer, changes.layer)),
    Layer.provide(settingsOf(options.settings ?? {})),
    Layer.provideMerge(layerDatabase(options))
  )

/** Starts a worker, until the scope closes. */
export const worker = (env: Readonly<Record<string, string>> = {}) =>
  Layer.build(
    Layer.fresh(layerWebhookDeliveries).pipe(
      Layer.provide(Layer.fresh(transport)),
      Layer.provide(Layer.fresh(settingsOf(env)))
    )
  )

/** Starts a receiver, until the scope closes. */
export const receiver = Effect.acquireDisposable(Effect.promise(() => startReceiver()))

/** A webhook of all events, by default with an unreachable receiver. */
export const hook = (table: string, given: Partial<NewWebhook> = {}) =>
  Effect.flatMap(Webhooks, (webhooks) =>
    webhooks.create({ table_name: table, events: ["INSERT", "UPDATE", "DELETE"], url: "http://127.0.0.1:9/", ...given })
  )

/** The messages, sent or not, oldest first, as `EVENT row|old_row` texts. */
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

/** Names of the webhook triggers on a table, without those that a partition inherits from its parent. */
export const triggersOf = (table: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const rows = yield* sql(
      `select tgname from pg_trigger where tgrelid = $1::regclass and tgname like 'svc\\_wh\\_%' and tgparentid = 0 order by 1`,
      [table]
    )
    return rows.map(({ tgname }) => String(tgname).replace(/\d+$/, "N"))
  })
