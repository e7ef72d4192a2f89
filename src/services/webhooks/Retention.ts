import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { pruneLock } from "../../domain/sql/AdvisoryLocks.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"

/** Log entries kept of a webhook, and for how long. Messages are deleted with the last entry about them. */
const kept = { entries: 1_000, days: 30 } as const

/** Rows of a webhook that one statement deletes. */
const batch = 2_000
/** Batches in a round; the rest waits for the next one. */
const batches = 50
/** The pause after a round that deleted something, and after one that found nothing. */
const pause = { busy: "10 seconds", idle: "1 minute" } as const

/** Deletes expired log entries, at most $1 of a webhook; returns their messages. */
const pruneLogsSql = `
  delete from svc.webhook_logs where id in (
    select old.id from svc.webhooks w cross join lateral (
      (select id from svc.webhook_logs where webhook_id = w.id
         order by id desc offset case when w.deleted_at is null then ${kept.entries} else 0 end limit $1::int)
      union
      (select id from svc.webhook_logs
         where webhook_id = w.id and created_at < now() - interval '${kept.days} days' order by id limit $1::int)
    ) old)
  returning message_id::text as message`

/** Deletes those of the messages $1 that are done and have no log entry. */
const pruneDoneSql = `
  delete from svc.webhook_messages m
  where m.id = any ($1::text[]::int8[]) and m.next_attempt_at is null
    and not exists (select from svc.webhook_logs l where l.message_id = m.id)`

/** Deletes messages of deleted webhooks, and those that have waited too long for an inactive one; at most $1 of each. */
const pruneWaitingSql = `
  delete from svc.webhook_messages where id in (
    select m.id from svc.webhooks w cross join lateral (
      select id from svc.webhook_messages
      where webhook_id = w.id and next_attempt_at is not null
        and (w.deleted_at is not null or next_attempt_at < now() - interval '${kept.days} days')
      order by next_attempt_at limit $1::int) m)
  returning id`

/** Purges deleted webhooks without messages or log entries. A write that began before the deletion may still add some. */
const pruneWebhooksSql = `
  delete from svc.webhooks w where deleted_at < now() - interval '1 hour'
    and not exists (select from svc.webhook_logs l where l.webhook_id = w.id)
    and not exists (select from svc.webhook_messages m where m.webhook_id = w.id and m.next_attempt_at is not null)`

/** Deletes old log entries and messages in the background. */
export const layerWebhookRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    let deleted = false
    /** Whether there may be more. One replica at a time. */
    const prune = sql.withTransaction(
      Effect.gen(function* () {
        const [lock] = yield* sql.unsafe<{ readonly mine: boolean }>(
          `select pg_try_advisory_xact_lock(${pruneLock}) as mine`
        )
        if (lock?.mine !== true) return false
        const logs = yield* sql.unsafe<{ readonly message: string }>(pruneLogsSql, [batch])
        const messages = Array.from(new Set(logs.map(({ message }) => message)))
        if (messages.length > 0) yield* sql.unsafe(pruneDoneSql, [messages])
        const waiting = yield* sql.unsafe(pruneWaitingSql, [batch])
        yield* sql.unsafe(pruneWebhooksSql)
        deleted ||= logs.length + waiting.length > 0
        return logs.length >= batch || waiting.length >= batch
      })
    )

    yield* onOwnTables(prune).pipe(
      Effect.repeat({ while: (more) => more, times: batches }),
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.catchCause(logFailure("Failed to delete old webhook deliveries")),
      Effect.andThen(
        Effect.suspend(() => {
          const wait = deleted ? pause.busy : pause.idle
          deleted = false
          return Effect.sleep(wait)
        })
      ),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
