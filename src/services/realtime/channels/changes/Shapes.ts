import { Effect, Queue, Schedule, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure } from "../../../OwnTables.ts"
import { type Actor } from "../../../ports/Db.ts"
import { Listener } from "../../../ports/Listener.ts"
import { RealtimeSubscriptions } from "../../Subscriptions.ts"

/** The publication whose tables clients can follow. */
const publication = "supabase_realtime"

export interface Column {
  readonly name: string
  /** The type's name in pg_type, by which clients convert values. */
  readonly type: string
  /** The type as SQL, without length or precision; of a domain, the type below it. */
  readonly sql: string
  /** The letter of pg_type.typcategory. */
  readonly category: string
  readonly key: boolean
  readonly anon: boolean
  readonly authenticated: boolean
}

/** A table of the publication, and what clients may read of it. */
export interface Shape {
  readonly schema: string
  readonly table: string
  /** The table as SQL. */
  readonly sql: string
  /** Whether policies decide who may read which rows. */
  readonly secured: boolean
  /** REPLICA IDENTITY FULL: old rows are published whole. */
  readonly full: boolean
  readonly operations: { readonly INSERT: boolean; readonly UPDATE: boolean; readonly DELETE: boolean }
  /** The publication's condition for rows, as SQL. */
  readonly condition: string | null
  /** The columns that are published. */
  readonly columns: ReadonlyArray<Column>
}

/** Whether a role may read a column. */
export const mayRead = (role: Actor["role"], column: Column) => role === "service_role" || column[role]

const may = (role: string) =>
  `(has_schema_privilege('${role}', n.oid, 'usage') and has_column_privilege('${role}', c.oid, a.attnum, 'select'))`

const shapeSql = `
  select n.nspname::text as schema, c.relname::text as table, c.oid::regclass::text as sql, c.relrowsecurity as secured,
    c.relreplident = 'f' as full, p.rowfilter as condition,
    json_build_object('INSERT', pub.pubinsert, 'UPDATE', pub.pubupdate, 'DELETE', pub.pubdelete) as operations,
    (select coalesce(json_agg(json_build_object(
        'name', a.attname, 'type', t.typname, 'sql', format_type(b.oid, -1), 'category', b.typcategory,
        'key', coalesce(a.attnum = any (i.indkey), false), 'anon', ${may("anon")}, 'authenticated', ${may("authenticated")}
      ) order by a.attnum), '[]')
      from pg_attribute a join pg_type t on t.oid = a.atttypid
        join pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
        left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and (p.attnames is null or a.attname = any (p.attnames))) as columns
  from pg_publication_tables p join pg_publication pub on pub.pubname = p.pubname
    join pg_namespace n on n.nspname = p.schemaname
    join pg_class c on c.relnamespace = n.oid and c.relname = p.tablename
  where p.pubname = '${publication}' and n.nspname = $1::text and c.relname = $2::text`

/**
 * The tables of the publication. They are read for each batch of changes, and never kept: policies and grants that are
 * older than a change must not decide who receives it.
 */
export const makeShapes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** Undefined if the publication does not have the table. */
    find: (schema: string, table: string) =>
      Effect.map(sql.unsafe<Shape>(shapeSql, [schema, table]), ([shape]): Shape | undefined => shape)
  }
})

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
