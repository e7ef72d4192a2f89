import { Effect, Queue, Schedule, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure } from "../../../OwnTables.ts"
import { Listener } from "../../../ports/Listener.ts"
import { RealtimeSubscriptions } from "../../Subscriptions.ts"
import { publication } from "./Shapes.ts"

interface Difference {
  readonly schema: string
  readonly table: string
  /** Whether it is in the publication, and has no subscription; else it is the other way round. */
  readonly added: boolean
}

/** `svc.channel_tables` has the subscriptions that the publication has made, which end with it; others remain. */
const differencesSql = `
  with published as (
    select schemaname::text as schema, tablename::text as table from pg_publication_tables where pubname = '${publication}'
      and schemaname !~ '^pg_' and schemaname not in ('information_schema', 'svc', 'svc_ddl')
  )
  select p.schema, p.table, true as added from published p
  where not exists (select from svc.realtime_subscriptions s where s.table_schema = p.schema and s.table_name = p.table)
  union all
  select t.table_schema, t.table_name, false from svc.channel_tables t
  where not exists (select from published p where p.schema = t.table_schema and p.table = t.table_name)`

/** Keeps the feed subscribed to the tables of the publication: at the start, after DDL, once a minute and on demand. */
export const makePublication = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const subscriptions = yield* RealtimeSubscriptions
  const { messages } = yield* (yield* Listener).listen("svc_ddl")
  const one = yield* Semaphore.make(1)

  const apply = ({ added, schema, table }: Difference) =>
    added
      ? Effect.andThen(
          subscriptions.subscribe(schema, table),
          sql`insert into svc.channel_tables (table_schema, table_name) values (${schema}, ${table}) on conflict do nothing`
        )
      : Effect.andThen(
          Effect.catchTag(subscriptions.unsubscribe(schema, table), "NotFound", () => Effect.void),
          sql`delete from svc.channel_tables where table_schema = ${schema} and table_name = ${table}`
        )

  const sync = Effect.gen(function* () {
    for (const difference of yield* sql.unsafe<Difference>(differencesSql)) {
      const { schema, table } = difference
      yield* Effect.catchCause(
        apply(difference),
        logFailure(`Failed to follow the publication ${publication} in ${schema}.${table}, will retry`)
      )
    }
  }).pipe(one.withPermit)

  const rounds = yield* Queue.sliding<void>(1)
  yield* messages.pipe(
    Stream.runForEach(() => Queue.offer(rounds, undefined)),
    Effect.forkScoped
  )
  yield* Queue.take(rounds).pipe(
    Effect.timeoutOption("1 minute"),
    Effect.andThen(sync),
    Effect.catchCause(logFailure(`Failed to read the publication ${publication}`)),
    Effect.repeat(Schedule.spaced("100 millis")),
    Effect.forkScoped
  )

  /** Completes once changes of its tables are sent to this process. */
  return { sync }
})
