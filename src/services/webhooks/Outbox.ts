import { Clock, Effect, Random } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import {
  isReceiverGone,
  isSuccess,
  maxPayload,
  retryAfterMillis,
  retryDelay,
  type WebhookReply
} from "../../domain/webhooks/Delivery.ts"
import { type Outgoing } from "./Sender.ts"
import { WebhookSettings } from "./Settings.ts"

/**
 * Duration of a claim in seconds, renewed three times as often while the message is held. The claims of a worker that
 * was killed expire after it.
 */
export const leaseSeconds = 20

/**
 * A payload about a row in the form of Supabase's database webhooks, by the text of its JSON, whose numbers stay exact.
 * It is stored before it is sent, so that the log has the text that was sent.
 */
const supabasePayload = (payload: string) => {
  const field = (name: string) => `(${payload}::json -> '${name}')::text`
  return `'{"type":' || ${field("event")} || ',"table":' || ${field("table")} || ',"schema":' || ${field("schema")}
      || ',"record":' || ${field("row")} || ',"old_record":' || ${field("old_row")} || '}'`
}

/**
 * Claims due messages of active webhooks, the webhooks in random order.
 *
 * $1 JSON: `[{webhook, room}]`, the limit for each of these; $2: the limit for every other webhook; $3: the total;
 * $4: uuid of the claim; $5: total payload bytes, which the first message may exceed.
 *
 * Commits asynchronously: if the server crashes and loses a claim, the messages are claimed again.
 */
const claimSql = `
  with lazily as (select set_config('synchronous_commit', 'off', true)),
  room as (select * from json_to_recordset($1::text::json) as r(webhook integer, room integer)),
  due as (
    select m.id, m.size, w.url, w.headers, w.secret, w.format, row_number() over (partition by w.id order by m.next_attempt_at, m.id) as nth
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
    set next_attempt_at = now() + interval '${leaseSeconds} s', claim = $4::uuid, attempt = m.attempt + 1,
      payload = case when taken.format = 'supabase' and m.event_type in ('INSERT', 'UPDATE', 'DELETE')
          and taken.size <= ${maxPayload} and starts_with(m.payload, '{"event":')
        then ${supabasePayload("m.payload")} else m.payload end
    from taken where m.id = taken.id
    returning m.id::text as id, m.message_id::text as message_id, m.webhook_id as webhook, m.event_type, m.attempt,
      case when taken.size <= ${maxPayload} then m.payload end as payload, taken.size,
      taken.url, taken.headers, taken.secret`

/** ms until the next message of an active webhook is due; null if there is none. $1: webhooks to ignore. */
const nextDueSql = `
  select (extract(epoch from min(m.next_attempt_at) - now()) * 1000)::float8 as millis
  from svc.webhooks w cross join lateral (
    select next_attempt_at from svc.webhook_messages
    where webhook_id = w.id and next_attempt_at is not null order by next_attempt_at limit 1) m
  where w.active and w.deleted_at is null and w.id <> all ($1::int4[])`

const failureCount = "(case when h.reset then h.failures else w.fail_count + h.failures end)"
const disable = `(h.gone or ${failureCount} >= $3::int)`

/**
 * Records attempts. $1 JSON: `[{n, message, claim, webhook, attempt, event_type, status, body, error, latency, age,
 * delay, settles}]`: `age` is the ms since the attempt began, `delay` the ms until the next one or null, `settles`
 * whether the message is done even though it was not claimed. $2 JSON: the outcome for each webhook,
 * `[{webhook, reset, failures, gone}]`. $3: the failures that disable a webhook. $4: whether a previous run of this
 * statement may have committed. $5: whether the commit need not wait for the disk: if the server crashes and loses it,
 * the messages are sent again. A message claimed by another worker in the meantime is left alone, a deleted one is not
 * logged. Returns the log ids in order, and the ids of the webhooks that are not active.
 *
 * The subqueries around $4 and $5 keep PostgreSQL from planning each run for their values, which takes longer than a run.
 */
const finishSql = `
  with lazily as materialized (select set_config('synchronous_commit', 'off', true) where (select $5::bool)),
  r as materialized (
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
    where not ((select $4::bool) and exists (
      select from svc.webhook_logs l where l.message_id = r.message and l.attempt = r.attempt))
    order by r.n
    returning id),
  h as (
    select * from json_to_recordset($2::text::json) as h(webhook integer, reset boolean, failures integer, gone boolean)),
  counted as (
    update svc.webhooks w set
      fail_count = ${failureCount},
      active = w.active and not ${disable},
      disabled_at = case when w.active and ${disable} then now() else w.disabled_at end,
      disabled_reason = case when not (w.active and ${disable}) then w.disabled_reason
        when h.gone then 'The receiver answered 410 Gone' else ${failureCount}::text || ' consecutive failures' end,
      updated_at = case when w.active and ${disable} then now() else w.updated_at end
    from h
    where w.id = h.webhook and w.deleted_at is null and (h.failures > 0 or w.fail_count > 0)
    returning w.id, w.active)
  select coalesce((select array_agg(id::text order by id) from logged), '{}') as logs,
    coalesce((select array_agg(id) from counted where not active), '{}') as inactive,
    (select count(*) from lazily)::int as lazily`

/** Extends claims. $1: message ids, $2: the claim of each. */
const renewSql = `
  update svc.webhook_messages m set next_attempt_at = now() + interval '${leaseSeconds} s'
  from unnest($1::text[]::int8[], $2::text[]::uuid[]) as h(id, claim) where m.id = h.id and m.claim = h.claim`

/** Releases messages that were claimed and not attempted: they are due at once, for any worker, which this notifies. */
const releaseSql = `
  with released as (
    update svc.webhook_messages m set next_attempt_at = now(), claim = null, attempt = m.attempt - 1
    from unnest($1::text[]::int8[], $2::text[]::uuid[]) as h(id, claim) where m.id = h.id and m.claim = h.claim
    returning 1)
  select count(pg_notify('svc_webhooks', '')) from (select from released limit 1) r`

/** A message that this process must send before its lease ends. */
export interface Claimed extends Outgoing {
  readonly id: string
  readonly webhook: number
  readonly event_type: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** Bytes of the payload. */
  readonly size: number
  readonly claim: string
}

/** An attempt that was made and must be recorded. */
export interface Attempted {
  readonly id: string
  readonly webhook: number
  readonly event_type: string
  readonly attempt: number
  /** Null when the message was not claimed from the outbox. */
  readonly claim: string | null
  readonly reply: WebhookReply
  /** The start of the attempt, in ms since 1970. */
  readonly at: number
  /** `test` and `interrupted` do not indicate a fault of the receiver; the latter is retried at once. */
  readonly kind: "queued" | "replay" | "test" | "interrupted"
}

/** How much to claim: for each webhook of which messages are held, for every other one, in total, and in bytes. */
interface Room {
  readonly held: ReadonlyMap<number, number>
  readonly others: number
  readonly total: number
  readonly size: number
}

type Claim = Pick<Claimed, "id" | "claim">

/** The outbox that triggers write to and workers read from. Every step is one statement for many messages. */
export const makeWebhookOutbox = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { disableAfter, retrySchedule } = yield* WebhookSettings

  const claim = (room: Room): Effect.Effect<ReadonlyArray<Claimed>, SqlError.SqlError> => {
    const held = Array.from(room.held, ([webhook, room]) => ({ webhook, room }))
    const uuid = randomUUID()
    const params = [JSON.stringify(held), room.others, room.total, uuid, Math.max(1, room.size)]
    return Effect.map(sql.unsafe<Omit<Claimed, "claim">>(claimSql, params), (rows) =>
      rows.map((row): Claimed => ({ ...row, claim: uuid }))
    )
  }

  /** ms until a message of a webhook other than `except` is due; undefined if none is waiting. */
  const nextDue = (except: ReadonlyArray<number>) =>
    Effect.map(
      sql.unsafe<{ readonly millis: number | null }>(nextDueSql, [except]),
      ([row]) => row?.millis ?? undefined
    )

  /** ms until the message is sent again; null when it is done. */
  const delayOf = (attempted: Attempted, now: number, random: number) => {
    const { attempt, kind, reply } = attempted
    if (kind === "interrupted") return 0
    if (kind !== "queued" || isSuccess(reply) || reply.final) return null
    return retryDelay(retrySchedule, attempt, retryAfterMillis(reply.retryAfter, now), random)
  }

  /**
   * Logs attempts, schedules retries and counts failures. `again`: an earlier call may have committed although its
   * result was lost. Returns the log ids in order, fewer than attempts when a message was deleted, and those of the
   * webhooks that are not active.
   */
  const finish = Effect.fnUntraced(function* (attempts: ReadonlyArray<Attempted>, again = false) {
    const now = yield* Clock.currentTimeMillis
    const random = yield* Random.next
    const rows = attempts.map((attempted, n) => ({
      n,
      message: attempted.id,
      claim: attempted.claim,
      webhook: attempted.webhook,
      attempt: attempted.attempt,
      event_type: attempted.event_type,
      status: attempted.reply.status,
      body: attempted.reply.body,
      error: attempted.reply.error,
      latency: attempted.reply.latencyMillis,
      age: Math.max(0, now - attempted.at),
      delay: delayOf(attempted, now, (random + n * 0.618_034) % 1),
      settles: attempted.kind === "replay" && isSuccess(attempted.reply)
    }))
    const [done] = yield* sql.unsafe<{ readonly logs: Array<string>; readonly inactive: Array<number> }>(finishSql, [
      JSON.stringify(rows),
      JSON.stringify(tallies(attempts)),
      disableAfter,
      again,
      attempts.every(({ kind, reply }) => kind === "queued" && isSuccess(reply))
    ])
    return { logs: done?.logs ?? [], inactive: done?.inactive ?? [] }
  })

  const onClaims = (text: string) => (claims: ReadonlyArray<Claim>) =>
    claims.length === 0
      ? Effect.void
      : Effect.asVoid(sql.unsafe(text, [claims.map(({ id }) => id), claims.map(({ claim }) => claim)]))

  return { claim, nextDue, finish, renew: onClaims(renewSql), release: onClaims(releaseSql) }
})

interface Tally {
  readonly webhook: number
  /** There was a success: only later failures count. */
  reset: boolean
  failures: number
  gone: boolean
}

const tallies = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Tally> => {
  const all = new Map<number, Tally>()
  for (const { kind, reply, webhook } of attempts) {
    if (kind === "test" || kind === "interrupted") continue
    const tally = all.get(webhook) ?? { webhook, reset: false, failures: 0, gone: false }
    all.set(webhook, tally)
    if (isSuccess(reply)) Object.assign(tally, { reset: true, failures: 0 })
    else {
      tally.failures++
      tally.gone ||= isReceiverGone(reply)
    }
  }
  return Array.from(all.values())
}
