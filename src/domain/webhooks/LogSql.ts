import { isoSql } from "../sql/IsoTimestamp.ts"
import { maxPayload } from "./QueueSql.ts"

/** Payload bytes that one page of the log shows; its last entry may be more. */
const maxPage = 4 * 1024 * 1024

/** Log entries kept of a webhook, and for how long; messages go with the last entry about them. */
const kept = { entries: 1_000, days: 30 } as const

/** A page of log entries as one JSON text, newest first. $1 webhook, $2 how many at most, $3 id to begin below, or null. */
export const logsSql = `
  select '[' || coalesce(string_agg(entry, ',' order by id desc), '') || ']' as body from (
    select l.id, json_build_object('id', l.id, 'webhook_id', l.webhook_id, 'event_type', l.event_type,
        'payload', case when l.size <= ${maxPayload} then m.payload::json end,
        'status_code', l.status_code, 'response_body', l.response_body, 'error', l.error, 'latency_ms', l.latency_ms,
        'attempt', l.attempt, 'message_id', 'msg_' || m.message_id,
        'created_at', ${isoSql("l.created_at")})::text as entry
    from (
      select *, sum(size) over (order by id desc) - size as before from (
        select l.*, octet_length(m.payload) as size
        from svc.webhook_logs l join svc.webhook_messages m on m.id = l.message_id
        where l.webhook_id = $1 and l.id < coalesce($3::text::int8, 9223372036854775807)
        order by l.id desc limit $2::int) sized) l
      join svc.webhook_messages m on m.id = l.message_id
    where l.before < ${maxPage}) page`

/** Log entries that are not kept, at most $1 of a webhook; gives their messages. */
export const pruneLogsSql = `
  delete from svc.webhook_logs where id in (
    select old.id from svc.webhooks w cross join lateral (
      (select id from svc.webhook_logs where webhook_id = w.id
         order by id desc offset case when w.deleted_at is null then ${kept.entries} else 0 end limit $1::int)
      union
      (select id from svc.webhook_logs
         where webhook_id = w.id and created_at < now() - interval '${kept.days} days' order by id limit $1::int)
    ) old)
  returning message_id::text as message`

/** Of these messages ($1), those that are done and that no log entry is about. */
export const pruneDoneSql = `
  delete from svc.webhook_messages m
  where m.id = any ($1::text[]::int8[]) and m.next_attempt_at is null
    and not exists (select from svc.webhook_logs l where l.message_id = m.id)`

/** Messages that wait for a webhook that is gone, or have waited too long for one that is not active; at most $1 each. */
export const pruneWaitingSql = `
  delete from svc.webhook_messages where id in (
    select m.id from svc.webhooks w cross join lateral (
      select id from svc.webhook_messages
      where webhook_id = w.id and next_attempt_at is not null
        and (w.deleted_at is not null or next_attempt_at < now() - interval '${kept.days} days')
      order by next_attempt_at limit $1::int) m)
  returning id`

/** Webhooks that are gone and have left nothing; a write that began before may still add to them for a while. */
export const pruneWebhooksSql = `
  delete from svc.webhooks w where deleted_at < now() - interval '1 hour'
    and not exists (select from svc.webhook_logs l where l.webhook_id = w.id)
    and not exists (select from svc.webhook_messages m where m.webhook_id = w.id and m.next_attempt_at is not null)`
