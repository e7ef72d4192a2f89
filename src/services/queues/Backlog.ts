import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { deadLettersOf, type QueueName, tableOf } from "../../domain/queues/Queue.ts"

/** Queues that are measured, and messages of each that are counted. */
const [maxQueues, maxCounted] = [200, 10_000]

const countsSql = (name: QueueName, dead: boolean) =>
  dead
    ? `select 0 as visible, 0 as hidden, count(*) as dead, null::timestamptz as oldest
       from (select from ${tableOf("q", name)} limit ${maxCounted}) q`
    : `select count(*) filter (where vt <= now()), count(*) filter (where vt > now()), 0, min(enqueued_at)
       from (select vt, enqueued_at from ${tableOf("q", name)} order by msg_id limit ${maxCounted}) q`

/** All queues as metrics, read from the database at most every 5 s; none if it does not answer within 2 s. */
export const makeQueueBacklog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const read = Effect.gen(function* () {
    const found = yield* sql<{ name: string }>`
      select relname::text as name from pg_class
      where relnamespace = to_regnamespace('pgmq') and relkind = 'r' and relname ~ '^q_' order by 1 limit ${maxQueues}`
    const names = new Set(found.map(({ name }) => name.slice(2) as QueueName))
    const dead = new Set([...names].map(deadLettersOf).filter((name) => names.has(name)))
    const counts = [...names].map((name) => countsSql(name, dead.has(name)))
    const text = `select coalesce(sum(visible), 0)::float8 as visible, coalesce(sum(hidden), 0)::float8 as hidden,
      coalesce(sum(dead), 0)::float8 as dead, coalesce(extract(epoch from now() - min(oldest)), 0)::float8 as age
      from (select 0, 0, 0, null::timestamptz ${counts.map((text) => `union all ${text}`).join(" ")}) c(visible, hidden, dead, oldest)`
    const [row] = yield* sql.unsafe<{ visible: number; hidden: number; dead: number; age: number }>(text)
    if (row === undefined) return []
    return [
      sampleOf("svc_queue_messages", { state: "visible" }, row.visible),
      sampleOf("svc_queue_messages", { state: "hidden" }, row.hidden),
      sampleOf("svc_queue_messages", { state: "dead" }, row.dead),
      sampleOf("svc_queue_oldest_age_seconds", {}, Math.max(0, row.age))
    ]
  }).pipe(
    Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => Effect.succeed([]) }),
    Effect.catchCause(() => Effect.succeed([]))
  )
  return yield* Effect.cachedWithTTL(read, "5 seconds")
})
