import { Effect, Schema } from "effect"
import { type SqlClient } from "effect/sql"
import { QueueConsumer, type QueueName } from "../../domain/queues/Queue.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { queryRows } from "../OwnTables.ts"

/** A queue of `pgmq.meta`, as far as its consumer depends on it. */
interface Named {
  readonly name: string
  readonly created_at: string
}

/** The consumer of a queue, or of all. */
const listSql = `select queue, ${isoSql("queue_created_at")} as queue_created_at, function, batch, concurrency, visibility, grouped
  from svc.queue_consumers where $1::text is null or queue = $1`
const Row = Schema.Struct({ queue: Schema.String, queue_created_at: Schema.String, ...QueueConsumer.fields })

const setSql = `insert into svc.queue_consumers (queue, queue_created_at, function, batch, concurrency, visibility, grouped)
  select queue_name, created_at, $2, $3::int4, $4::int4, $5::int4, $6::boolean from pgmq.meta where queue_name = $1
  on conflict (queue) do update set queue_created_at = excluded.queue_created_at, function = excluded.function,
    batch = excluded.batch, concurrency = excluded.concurrency, visibility = excluded.visibility,
    grouped = excluded.grouped, updated_at = now()`

/** The service's own table of the functions that consume queues. */
export const makeConsumerRecords = (sql: SqlClient.SqlClient) => {
  const rows = queryRows(sql, Row)
  const notify = sql`select pg_notify('svc_queue_consumers', '')`
  return {
    /** The same queues, each with its consumer. The consumer of a queue that was dropped is not that of a later queue of its name. */
    join: <Meta extends Named>(queues: ReadonlyArray<Meta>) =>
      Effect.map(rows(listSql, [queues.length === 1 ? queues[0]?.name : null]), (all) =>
        queues.map((queue) => {
          const found = all.find((row) => row.queue === queue.name && row.queue_created_at === queue.created_at)
          if (found === undefined) return { ...queue, consumer: null }
          const { queue: _, queue_created_at: __, ...consumer } = found
          return { ...queue, consumer }
        })
      ),
    set: (queue: QueueName, consumer: QueueConsumer) =>
      Effect.andThen(
        sql.unsafe(setSql, [
          queue,
          consumer.function,
          consumer.batch,
          consumer.concurrency,
          consumer.visibility,
          consumer.grouped
        ]),
        notify
      ),
    remove: (queue: QueueName) =>
      Effect.andThen(sql.unsafe("delete from svc.queue_consumers where queue = $1", [queue]), notify)
  }
}
