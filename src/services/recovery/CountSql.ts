/** Tables of the service's own schemas are left out, and those that a recovery does not bring back. */
const countsNow = `select c.oid, n.nspname::text as schema_name, c.relname::text as table_name,
    pg_stat_get_tuples_inserted(c.oid) as inserted, pg_stat_get_tuples_updated(c.oid) as updated,
    pg_stat_get_tuples_deleted(c.oid) as deleted, pg_stat_get_live_tuples(c.oid) as live, c.relfilenode as filenode
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence = 'p' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc', 'svc_ddl')`

const added = (counter: string) =>
  `case when lost then new_${counter} else coalesce(new_${counter}, ${counter}) - coalesce(${counter}, 0) end as ${counter}`

/**
 * Common table expressions. `moment` is when the counters were read: a change is in them at the latest ten seconds later, so
 * it is counted as later than it was, never as earlier. `added` has the tables whose counters, file or name have changed
 * since `svc.table_counts` was written. Counters that have decreased began at 0 again.
 */
const addedSql = `counts as materialized (${countsNow}),
  moment as materialized (select clock_timestamp() as at from (select count(*) from counts) as read),
  compared as materialized (
    select coalesce(c.oid, l.table_oid) as table_oid, coalesce(c.schema_name, l.schema_name) as schema_name,
      coalesce(c.table_name, l.table_name) as table_name, l.inserted, l.updated, l.deleted, l.live as live_before,
      c.inserted as new_inserted, c.updated as new_updated, c.deleted as new_deleted, c.live, c.filenode,
      case when l.table_oid is null then 'created' when c.oid is null then 'dropped'
           when c.filenode <> l.filenode then 'rewritten' end as event,
      coalesce(c.inserted < l.inserted or c.updated < l.updated or c.deleted < l.deleted, false) as lost
    from counts c full join svc.table_counts l on l.table_oid = c.oid
    where (c.inserted, c.updated, c.deleted, c.filenode, c.schema_name, c.table_name)
      is distinct from (l.inserted, l.updated, l.deleted, l.filenode, l.schema_name, l.table_name)
  ),
  added as (
    select table_oid, schema_name, table_name, event, lost, ${added("inserted")}, ${added("updated")}, ${added("deleted")},
      case when event in ('dropped', 'rewritten') then live_before end as live
    from compared
  )`

/** The database that counters are of: those of another one, whose tables were imported or copied, say nothing. */
const databaseSql = `(select system_identifier::text from pg_control_system()) || '/' ||
    (select oid::text from pg_database where datname = current_database())`

export const lastRunSql = `select database = ${databaseSql} as same,
    (extract(epoch from counted_at) * 1000)::float8 as counted, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
  from svc.table_count_runs`

/** Before the first count of a database. */
export const forgetSql = "truncate svc.table_counts, svc.table_changes, svc.table_count_runs"

/**
 * Counts once. $1: the time from which on changes are new, in ms since 1970; null: the first count, of which nothing is
 * known before. Writes nothing if nothing has changed.
 */
export const countTablesSql = `with ${addedSql},
  saved as (
    insert into svc.table_counts
    select table_oid, schema_name, table_name, new_inserted, new_updated, new_deleted, live, filenode from compared
    where event is distinct from 'dropped'
    on conflict (table_oid) do update set schema_name = excluded.schema_name, table_name = excluded.table_name,
      inserted = excluded.inserted, updated = excluded.updated, deleted = excluded.deleted, live = excluded.live,
      filenode = excluded.filenode
  ),
  gone as (
    delete from svc.table_counts l using compared c where l.table_oid = c.table_oid and c.event = 'dropped'
  ),
  recorded as (
    insert into svc.table_changes (until, since, table_oid, schema_name, table_name, inserted, updated, deleted, event, live, lost)
    select moment.at, to_timestamp($1::float8 / 1000), table_oid, schema_name, table_name, inserted, updated, deleted, event, live, lost
    from added, moment
    where $1::float8 is not null and (event is not null or lost or inserted + updated + deleted > 0)
  ),
  run as (
    insert into svc.table_count_runs (database, began_at, counted_at)
    select ${databaseSql}, moment.at, moment.at from moment
    where $1::float8 is null or exists (select from compared)
    on conflict (only_one) do update set counted_at = excluded.counted_at
  )
  select (extract(epoch from at) * 1000)::float8 as at from moment`

/** Deletes what no recovery asks for: before $1, in ms since 1970. */
export const pruneSql = "delete from svc.table_changes where until < to_timestamp($1::float8 / 1000)"

/** After a day, one row for each hour of a table is enough. */
export const mergeSql = `with hours as (
    select table_oid, date_trunc('hour', until) as hour from svc.table_changes
    where until < date_trunc('hour', now() - interval '1 day') and event is null and not lost
    group by 1, 2 having count(*) > 1
  ),
  old as (
    delete from svc.table_changes c using hours h
    where c.table_oid = h.table_oid and c.until >= h.hour and c.until < h.hour + interval '1 hour'
      and c.event is null and not c.lost
    returning c.*
  )
  insert into svc.table_changes (until, since, table_oid, schema_name, table_name, inserted, updated, deleted)
  select max(until), min(since), table_oid, (array_agg(schema_name order by until desc))[1],
    (array_agg(table_name order by until desc))[1], sum(inserted), sum(updated), sum(deleted)
  from old group by table_oid, date_trunc('hour', until)`

/**
 * What has changed since $1, the most first, at most $4 tables, in one row. $2: the last time when this process saw that
 * nothing had changed. $3: the time before which changes were deleted. In ms since 1970. A table that came and went is
 * left out, unless it may have come before.
 */
export const changesSql = `with ${addedSql},
  run as (select began_at, greatest(counted_at, to_timestamp($2::float8 / 1000)) as counted_at from svc.table_count_runs
          where database = ${databaseSql}),
  known as (
    select until, since, table_oid, schema_name, table_name, inserted, updated, deleted, event, live, lost
    from svc.table_changes where until > to_timestamp($1::float8 / 1000)
    union all
    select moment.at, run.counted_at, table_oid, schema_name, table_name, inserted, updated, deleted, event, live, lost
    from added, moment, run where event is not null or lost or inserted + updated + deleted > 0
  ),
  by_table as (
    select coalesce(pg_partition_root(k.table_oid)::oid, k.table_oid) as table_oid,
      (array_agg(schema_name order by until desc))[1] as schema_name, (array_agg(table_name order by until desc))[1] as table_name,
      sum(inserted) as inserted, sum(updated) as updated, sum(deleted) as deleted,
      bool_or(event = 'created') as created, bool_or(event = 'created' and since >= to_timestamp($1::float8 / 1000)) as new, bool_or(event = 'dropped') as dropped, bool_or(event = 'rewritten') as rewritten,
      sum(live) as rows_before
    from known k group by 1
  ),
  shown as (
    select coalesce(n.nspname::text, t.schema_name) as "schema", coalesce(c.relname::text, t.table_name) as "table",
      inserted::float8, updated::float8, deleted::float8, rows_before::float8,
      case when dropped then 'dropped' when created then 'created' when rewritten then 'rewritten' end as event
    from by_table t left join pg_class c on c.oid = t.table_oid left join pg_namespace n on n.oid = c.relnamespace
    where not coalesce(new and dropped, false)
      and (coalesce(created, dropped, rewritten) is not null or inserted + updated + deleted > 0)
  ),
  most as (
    select * from shown
    order by event is distinct from 'dropped', event is distinct from 'rewritten', inserted + updated + deleted desc, "schema", "table"
    limit $4::int4
  )
  select (select (extract(epoch from greatest(began_at, to_timestamp($3::float8 / 1000))) * 1000)::float8 from run) as horizon,
    (extract(epoch from (select min(since) from known)) * 1000)::float8 as first,
    (select (extract(epoch from at) * 1000)::float8 from moment) as now,
    not exists (select from known where lost) as complete,
    (select count(*)::int4 from shown) as table_count,
    coalesce((select json_agg(row_to_json(most)) from most), '[]') as tables`
