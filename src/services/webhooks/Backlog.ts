import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Sample, sampleOf } from "../../domain/metrics/Sample.ts"

/** Messages that are counted; with more, the size of the outbox does not matter any more. */
const maxCounted = 10_000

const backlogSql = `
  select count(*)::int4 as messages, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age from (
    select m.created_at from svc.webhooks w cross join lateral (
      select created_at from svc.webhook_messages
      where webhook_id = w.id and next_attempt_at is not null order by next_attempt_at limit ${maxCounted}) m
    where w.active and w.deleted_at is null limit ${maxCounted}) waiting`

/** The outbox as metrics, read from the database at most every 5 s; none if it does not answer within 2 s. */
export const makeWebhookBacklog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const read = sql.unsafe<{ readonly messages: number; readonly age: number }>(backlogSql).pipe(
    Effect.map(([row]): ReadonlyArray<Sample> =>
      row === undefined
        ? []
        : [
            sampleOf("svc_webhook_outbox_messages", {}, row.messages),
            sampleOf("svc_webhook_outbox_age_seconds", {}, Math.max(0, row.age))
          ]
    ),
    Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => Effect.succeed([]) }),
    Effect.catchCause(() => Effect.succeed([]))
  )
  return yield* Effect.cachedWithTTL(read, "5 seconds")
})
