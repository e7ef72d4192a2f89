import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { deadLettersOf, type Queue, type QueueName, tableOf } from "../../domain/queues/Queue.ts"

/** Messages that are counted one by one; of more, the number is estimated. */
const maxCounted = 10_000

/**
 * The number of rows of a table, and whether it is exact. Beyond the limit it is that of the last analysis for the table's
 * size today, and never more than the ids between the first and the last message.
 */
const countSql = (table: string) => `
  select case when n <= ${maxCounted} then n else greatest(n, least(
      (select max(msg_id) - min(msg_id) + 1 from ${table}),
      (select case when reltuples >= 0 then reltuples end::float8 / greatest(relpages, 1) * pg_relation_size(oid) / current_setting('block_size')::int
        from pg_class where oid = '${table}'::regclass)))::float8 end as n, n <= ${maxCounted} as exact
  from (select count(*)::float8 as n from (select from ${table} limit ${maxCounted + 1}) found) counted`

/** Messages that a condition selects, and those of them that were read; one more than the limit at most. */
const someSql = (table: string, condition: string) => `
  select count(*)::float8 as n, count(*) filter (where read_ct > 0)::float8 as read
  from (select read_ct from ${table} where ${condition} limit ${maxCounted + 1}) found`

const countsSql = (queue: QueueName, dead: boolean) => {
  const table = tableOf("q", queue)
  return `
    select round(a.n) as depth, h.read as in_flight, round(d.n) as dead,
      round(case when v.n <= ${maxCounted} then v.n else greatest(a.n - h.n, v.n) end) as visible,
      extract(epoch from now() - (select enqueued_at from ${table} order by msg_id limit 1))::float8 as oldest_age,
      a.exact and d.exact as exact
    from (${countSql(table)}) a, (${someSql(table, "vt <= now()")}) v, (${someSql(table, "vt > now()")}) h,
      (${dead ? countSql(tableOf("q", deadLettersOf(queue))) : "select 0::float8 as n, true as exact"}) d`
}

type Counts = Pick<Queue, "depth" | "visible" | "in_flight" | "oldest_age" | "dead" | "exact">

/** The numbers of a queue, in a time that does not grow with its messages. */
export const countQueue = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, queue: QueueName) {
  const [dead] = yield* sql<{ there: boolean }>`
    select to_regclass(${tableOf("q", deadLettersOf(queue))}) is not null as there`
  const [row] = yield* sql.unsafe<Counts>(countsSql(queue, dead?.there === true))
  const none: Counts = { depth: 0, visible: 0, in_flight: 0, oldest_age: null, dead: 0, exact: true }
  return row ?? none
})
