import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { shownReplaced, shownWebhook } from "../../domain/audit/Shown.ts"
import { type Conflict, type Forbidden, InvalidRequest, type NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import {
  identityPlace,
  isIdentityPlace,
  isIdentityWebhook,
  type NewWebhook,
  Webhook,
  type WebhookChange,
  type WebhookId,
  warned,
  webhookNotFound
} from "../../domain/webhooks/Webhook.ts"
import { recordChange } from "../audit/Change.ts"
import { WatchedTables } from "../changes/WatchedTables.ts"
import { onOwnTables } from "../OwnTables.ts"
import { WebhookSettings } from "./Settings.ts"
import { makeWebhookTriggers } from "./Triggers.ts"

/** The oid of a webhook's table; null when the table does not exist. */
const tableOid = `(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = table_schema and c.relname = table_name and c.relkind in ('r', 'p'))`

const columns = `id, name, table_schema, table_name, events, url, headers, secret is not null as has_secret, format, active,
  fail_count, ${isoSql("disabled_at")} as disabled_at, disabled_reason, ${tableOid} is not null as table_exists,
  (select count(*) from (select from svc.webhook_messages m
    where m.webhook_id = webhooks.id and m.next_attempt_at is not null limit 10000) m)::int as waiting,
  (select json_build_object('status_code', l.status_code, 'error', l.error, 'latency_ms', l.latency_ms,
      'created_at', ${isoSql("l.created_at")})
    from svc.webhook_logs l where l.webhook_id = webhooks.id order by l.id desc limit 1) as last_attempt,
  ${isoSql("created_at")} as created_at, ${isoSql("updated_at")} as updated_at`

/** A webhook's table, which may have been dropped. */
const Place = Schema.Struct({
  table_schema: Schema.String,
  table_name: Schema.String,
  oid: Schema.NullOr(Schema.Finite)
})

/** Makes the workers of all replicas reload the webhook. */
const notifySql = "select pg_notify('svc_webhooks', $1)"

/** Webhooks: which row changes of which table are sent where (spec: Webhook). */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>
    readonly find: (id: WebhookId) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** Once it returns, every change of the table is recorded. Rejects tables as `WatchedTables` does. */
    readonly create: (
      given: NewWebhook
    ) => Effect.Effect<Webhook, NotFound | InvalidRequest | Conflict | Forbidden | Unavailable>
    /** `active: true` also resets the failure count. */
    readonly update: (
      id: WebhookId,
      change: WebhookChange
    ) => Effect.Effect<Webhook, NotFound | InvalidRequest | Conflict | Forbidden | Unavailable>
    /** Deletes the webhook with its pending messages and its log. */
    readonly remove: (id: WebhookId) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("svc/services/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watched = yield* WatchedTables
      const triggers = yield* makeWebhookTriggers
      const { allowPrivate } = yield* WebhookSettings

      const rows = (text: string, params: ReadonlyArray<unknown> = []) =>
        Effect.map(
          SqlSchema.findAll({ Request: Schema.Void, Result: Webhook, execute: () => sql.unsafe(text, params) })(),
          (found) => found.map((webhook) => warned(webhook, allowPrivate))
        )
      const findPlace = SqlSchema.findOneOption({
        Request: Schema.Int,
        Result: Place,
        execute: (id) =>
          sql.unsafe(
            `select table_schema, table_name, ${tableOid}::int8::float8 as oid
             from svc.webhooks where id = $1 and deleted_at is null`,
            [id]
          )
      })

      const list = onOwnTables(rows(`select ${columns} from svc.webhooks where deleted_at is null order by id`))

      const find = Effect.fn("Webhooks.find")(function* (id: WebhookId) {
        const [found] = yield* onOwnTables(
          rows(`select ${columns} from svc.webhooks where id = $1 and deleted_at is null`, [id])
        )
        return found ?? (yield* webhookNotFound(id))
      })

      const insert = (given: NewWebhook, schema: string, name: string) =>
        Effect.tap(
          Effect.map(
            rows(
              `insert into svc.webhooks (name, table_schema, table_name, events, url, headers, secret, active, format)
             values ($1, $2, $3, $4::text[], $5, $6::text::jsonb, $7, $8::bool, $9) returning ${columns}`,
              [
                given.name ?? "",
                schema,
                name,
                unique(given.events),
                given.url,
                JSON.stringify(given.headers ?? {}),
                given.secret ?? null,
                given.active ?? true,
                given.format ?? "svc"
              ]
            ),
            ([created]) => created as Webhook
          ),
          (created) => recordChange(sql, { subject: subjectOf(created.id), after: shownWebhook(created) })
        )

      const create = Effect.fn("Webhooks.create")(function* (given: NewWebhook) {
        if (yield* isIdentityWebhook(given)) {
          const { table_name, table_schema } = identityPlace
          return yield* onOwnTables(sql.withTransaction(insert(given, table_schema, table_name)))
        }
        const { oid, schema, name } = yield* watched.find(given.table_schema ?? "public", given.table_name ?? "")
        return yield* watched.change(
          Effect.gen(function* () {
            yield* triggers.lock(oid)
            const created = yield* insert(given, schema, name)
            yield* triggers.apply(oid)
            return created
          })
        )
      })

      const placeOf = (id: WebhookId) =>
        Effect.flatMap(onOwnTables(findPlace(id)), (found) =>
          Effect.mapError(Effect.fromOption(found), () => webhookNotFound(id))
        )

      const put = (id: WebhookId, change: WebhookChange) =>
        Effect.gen(function* () {
          const [before] = yield* rows(`select ${columns} from svc.webhooks where id = $1 for update`, [id])
          const [changed] = yield* rows(
            `update svc.webhooks set
               name = coalesce($2, name), table_schema = coalesce($3, table_schema),
               table_name = coalesce($4, table_name), events = coalesce($5::text[], events), url = coalesce($6, url),
               headers = coalesce($7::text::jsonb, headers), secret = case when $8::bool then $9 else secret end,
               active = coalesce($10::bool, active), format = coalesce($11, format),
               fail_count = case when $10::bool then 0 else fail_count end,
               disabled_at = case when $10::bool then null else disabled_at end,
               disabled_reason = case when $10::bool then null else disabled_reason end,
               updated_at = now()
             where id = $1 and deleted_at is null returning ${columns}`,
            [
              id,
              change.name ?? null,
              change.table_schema ?? null,
              change.table_name ?? null,
              change.events === undefined ? null : unique(change.events),
              change.url ?? null,
              change.headers === undefined ? null : JSON.stringify(change.headers),
              change.secret !== undefined,
              change.secret ?? null,
              change.active ?? null,
              change.format ?? null
            ]
          )
          yield* sql.unsafe(notifySql, [String(id)])
          if (before === undefined || changed === undefined) return undefined
          const after = { ...shownWebhook(changed), ...shownReplaced(change, ["url", "headers", "secret"]) }
          yield* recordChange(sql, { subject: subjectOf(id), before: shownWebhook(before), after })
          return changed
        })

      const update = Effect.fn("Webhooks.update")(function* (id: WebhookId, change: WebhookChange) {
        if (Object.keys(change).length === 0) return yield* find(id)
        const from = yield* placeOf(id)
        const to = {
          table_schema: change.table_schema ?? from.table_schema,
          table_name: change.table_name ?? from.table_name
        }
        if (change.events !== undefined) yield* isIdentityWebhook({ ...to, events: change.events })
        if (isIdentityPlace(from) !== isIdentityPlace(to)) {
          return yield* new InvalidRequest({
            error: "A webhook of a table can't become one of accounts, or the reverse: create another"
          })
        }
        if (to.table_schema === from.table_schema && to.table_name === from.table_name) {
          return (yield* onOwnTables(sql.withTransaction(put(id, change)))) ?? (yield* webhookNotFound(id))
        }
        const { oid } = yield* watched.find(to.table_schema, to.table_name)
        const changed = yield* watched.change(
          Effect.gen(function* () {
            yield* triggers.lock(oid)
            const changed = yield* put(id, change)
            yield* triggers.apply(oid)
            return changed
          })
        )
        if (from.oid !== null) yield* triggers.reconcile(from.oid)
        return changed ?? (yield* webhookNotFound(id))
      })

      const remove = Effect.fn("Webhooks.remove")(function* (id: WebhookId) {
        const { oid, ...place } = yield* placeOf(id)
        const gone = Effect.gen(function* () {
          const [before] = yield* rows(
            `select ${columns} from svc.webhooks where id = $1 and deleted_at is null for update`,
            [id]
          )
          if (before === undefined) return yield* webhookNotFound(id)
          yield* sql.unsafe(
            `update svc.webhooks set deleted_at = now(), active = false, secret = null, headers = '{}', url = ''
             where id = $1`,
            [id]
          )
          yield* sql.unsafe(notifySql, [String(id)])
          yield* recordChange(sql, { subject: subjectOf(id), before: shownWebhook(before) })
        })
        yield* onOwnTables(sql.withTransaction(gone))
        if (oid !== null && !isIdentityPlace(place)) yield* triggers.reconcile(oid)
      })

      return Webhooks.of({ list, find, create, update, remove })
    })
  )
}

const subjectOf = (id: WebhookId) => `webhook:${id}`

const unique = (events: ReadonlyArray<string>) => Array.from(new Set(events))
