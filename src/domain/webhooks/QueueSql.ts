/**
 * How long a claimed message is one worker's, in seconds; renewed three times as often while it is under way. What a
 * worker that was killed had claimed waits this long.
 */
export const leaseSeconds = 20

/** A larger payload is not sent, in bytes: it has to be held in memory as one piece, like the logs that show it. */
export const maxPayload = 10 * 1024 * 1024

/**
 * Claims what is due, of active webhooks, in an order of webhooks that is another one each time.
 *
 * $1 JSON: `[{webhook, room}]`, how many of each of these; $2: how many of every other; $3: how many in all; $4: uuid
 * of the claim; $5: payload bytes in all, of which the first message may be more.
 *
 * Not flushed to disk: a claim that is lost with the server's memory is claimed again.
 */
export const claimSql = `
  with lazily as (select set_config('synchronous_commit', 'off', true)),
  room as (select * from json_to_recordset($1::text::json) as r(webhook integer, room integer)),
  due as (
    select m.id, m.size, w.url, w.headers, w.secret, row_number() over (partition by w.id order by m.next_attempt_at, m.id) as nth
    from lazily
      cross join (select * from svc.webhooks where active and deleted_at is null order by random()) w
      left join room on room.webhook = w.id
      cross join lateral (
        select id, next_attempt_at, octet_length(payload) as size from svc.webhook_messages
        where webhook_id = w.id and next_attempt_at <= now() order by next_attempt_at, id
        limit coalesce(room.room, $2::int) for update skip locked) m
    limit $3::int),
  taken as (
    select * from (select *, sum(size) over (order by nth, id) - size as before from due) d
    where before < $5::int)
  update svc.webhook_messages m
    set next_attempt_at = now() + interval '${leaseSeconds} s', claim = $4::uuid, attempt = m.attempt + 1
    from taken where m.id = taken.id
    returning m.id::text as id, m.message_id::text as message_id, m.webhook_id as webhook, m.event_type, m.attempt,
      case when taken.size <= ${maxPayload} then m.payload end as payload, taken.size,
      taken.url, taken.headers, taken.secret`

/** ms until the next message of an active webhook is due; null: there is none. $1: webhooks not to look at. */
export const nextDueSql = `
  select (extract(epoch from min(m.next_attempt_at) - now()) * 1000)::float8 as millis
  from svc.webhooks w cross join lateral (
    select next_attempt_at from svc.webhook_messages
    where webhook_id = w.id and next_attempt_at is not null order by next_attempt_at limit 1) m
  where w.active and w.deleted_at is null and w.id <> all ($1::int4[])`

const count = "(case when h.reset then h.failures else w.fail_count + h.failures end)"
const disable = `(h.gone or ${count} >= $3::int)`

/**
 * Writes down attempts. $1 JSON: `[{n, message, claim, webhook, attempt, event_type, status, body, error, latency, age,
 * delay, settles}]` with `age` the ms since it began, `delay` the ms until the next one, or null, `settles` when the
 * message need not be sent again although nobody had claimed it; $2 JSON: what it means for each
 * webhook, `[{webhook, reset, failures, gone}]`; $3: failures that disable one. A message whose claim is another's by
 * now is left alone, one that is gone is not logged. $4: it may have been done already, with the answer lost.
 * Gives the entries' ids in order, and those of the webhooks that are not active (any more).
 */
export const finishSql = `
  with r as materialized (
    select * from json_to_recordset($1::text::json) as r(n integer, message bigint, claim uuid, webhook integer,
      attempt integer, event_type text, status integer, body text, error text, latency integer, age float8, delay float8, settles boolean)),
  moved as (
    update svc.webhook_messages m set next_attempt_at = now() + r.delay * interval '1 ms', claim = null
    from r where m.id = r.message and (m.claim = r.claim or (r.settles and m.claim is null))),
  logged as (
    insert into svc.webhook_logs
      (webhook_id, message_id, attempt, event_type, status_code, response_body, error, latency_ms, created_at)
    select r.webhook, r.message, r.attempt, r.event_type, r.status, r.body, r.error, r.latency,
      now() - r.age * interval '1 ms'
    from r join svc.webhook_messages m on m.id = r.message
    where not ($4::bool and exists (
      select from svc.webhook_logs l where l.message_id = r.message and l.attempt = r.attempt))
    order by r.n
    returning id),
  h as (
    select * from json_to_recordset($2::text::json) as h(webhook integer, reset boolean, failures integer, gone boolean)),
  counted as (
    update svc.webhooks w set
      fail_count = ${count},
      active = w.active and not ${disable},
      disabled_at = case when w.active and ${disable} then now() else w.disabled_at end,
      disabled_reason = case when not (w.active and ${disable}) then w.disabled_reason
        when h.gone then 'The receiver answered 410 Gone' else ${count} || ' consecutive failures' end,
      updated_at = case when w.active and ${disable} then now() else w.updated_at end
    from h
    where w.id = h.webhook and w.deleted_at is null and (h.failures > 0 or w.fail_count > 0)
    returning w.id, w.active)
  select coalesce((select array_agg(id::text order by id) from logged), '{}') as logs,
    coalesce((select array_agg(id) from counted where not active), '{}') as inactive`

/** Makes claims last. $1: message ids, $2: the claim of each. */
export const renewSql = `
  update svc.webhook_messages m set next_attempt_at = now() + interval '${leaseSeconds} s'
  from unnest($1::text[]::int8[], $2::text[]::uuid[]) as h(id, claim) where m.id = h.id and m.claim = h.claim`

/** Gives back what was claimed and not tried: due at once, for whoever comes. */
export const giveBackSql = `
  update svc.webhook_messages m set next_attempt_at = now(), claim = null, attempt = m.attempt - 1
  from unnest($1::text[]::int8[], $2::text[]::uuid[]) as h(id, claim) where m.id = h.id and m.claim = h.claim`
