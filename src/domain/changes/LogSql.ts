import { uuidOf } from "../sql/Uuids.ts"

/** Statements about the write-ahead log as the source of changes. */

export const logPublication = "svc_changes"
/** The channel on which the reader passes changes to every process, in pieces. */
export const logChannel = "svc_changes"

/** The name of this database's slot: slots belong to the whole server. */
export const slotSql = `(select 'svc_changes_' || oid::text from pg_database where datname = current_database())`

const version = `current_setting('server_version_num')::int`

/** Creates the publication, to which tables are added as they are needed. */
export const createPublicationSql = `do $$
  begin
    if not exists (select from pg_publication where pubname = '${logPublication}') then
      execute 'create publication ${logPublication} with (publish = ''insert, update, delete, truncate'''
        || case when ${version} >= 180000 then ', publish_generated_columns = stored' else '' end || ')';
    end if;
  exception when duplicate_object or unique_violation then null;
  end $$`

/** Whether tables can be published: there is a slot that has kept everything since it was made. */
const readySql = `exists (select from pg_publication where pubname = '${logPublication}')
  and exists (select from pg_replication_slots where slot_name = ${slotSql}
    and confirmed_flush_lsn is not null and wal_status <> 'lost')`

/**
 * Whether a table `c` has a subscription, given the names `schema` and `name`. A renamed one keeps it, unless another
 * table has the old name.
 */
const subscribedSql = (oid: string, schema: string, name: string) => `exists (select from svc.realtime_subscriptions s
  where (s.table_schema = ${schema} and s.table_name = ${name}) or (s.table_oid = ${oid}
    and not exists (select from pg_class o join pg_namespace m on m.oid = o.relnamespace
      where m.nspname = s.table_schema and o.relname = s.table_name and o.relkind in ('r', 'p'))))`

/**
 * Whether the log has what a trigger would have of table `c`. Not: tables that are not in it; partitioned tables, of
 * which every partition would need its own replica identity; generated columns that are not published; and columns that
 * row_to_json() does not write as their text: composites, and types with a cast to JSON of their own. The login must own
 * the table to publish it.
 */
const wholeSql = `(c.relkind = 'r' and c.relpersistence = 'p' and pg_has_role(current_user, c.relowner, 'usage')
  and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    and (a.attgenerated = 'v' or (a.attgenerated = 's' and ${version} < 180000) or (
      with recursive part(oid) as (
        select a.atttypid
        union
        select case when t.typtype = 'd' then t.typbasetype else t.typelem end from part join pg_type t using (oid)
        where t.typtype = 'd' or (t.typcategory = 'A' and t.typelem <> 0))
      select bool_or(t.typtype in ('c', 'p') or t.oid in (22, 30) or (t.oid >= 16384 and exists (
        select from pg_cast k where k.castsource = t.oid and k.casttarget = 'json'::regtype and k.castmethod = 'f')))
      from part join pg_type t using (oid)))))`

/** A table, and where its changes come from. */
export interface ChangeTable {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly identity: string
  readonly identity_index: string | null
  /** Recorded as published, and published. */
  readonly noted: boolean
  readonly published: boolean
  /** Whether its changes should come from the log, and the log has them. */
  readonly should: boolean
  /** The table's replica identity before; null if it is not noted. */
  readonly former: string | null
  readonly former_index: string | null
  /** Triggers of the service. */
  readonly triggers: ReadonlyArray<string>
}

/** $1: whether the log is the source. */
const tablesSql = `select c.oid::int8::float8 as oid, n.nspname::text as schema, c.relname::text as name,
    c.relreplident::text as identity,
    (select i.indexrelid::regclass::text from pg_index i where i.indrelid = c.oid and i.indisreplident) as identity_index,
    l.table_oid is not null as noted, p.oid is not null as published,
    $1::bool and ${readySql} and ${wholeSql} and (${subscribedSql("c.oid", "n.nspname", "c.relname")}
      or exists (select from svc.webhooks w
        where w.table_schema = n.nspname and w.table_name = c.relname and w.deleted_at is null)) as should,
    l.identity::text as former, l.identity_index as former_index,
    array(select t.tgname::text from pg_trigger t where t.tgrelid = c.oid and t.tgparentid = 0 and t.tgfoid in
      ('svc.notify_row_change'::regproc, 'svc.enqueue_webhooks()'::regprocedure)) as triggers
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join svc.change_tables l on l.table_oid = c.oid
    left join pg_publication_rel p on p.prrelid = c.oid
      and p.prpubid = (select oid from pg_publication where pubname = '${logPublication}')`

/** One table, by its oid ($2). */
export const changeTableSql = `${tablesSql} where c.oid = $2::text::oid and c.relkind in ('r', 'p')`

/** Tables whose source is not the one that they should have. */
export const changedTablesSql = `select * from (${tablesSql}
    where c.relkind in ('r', 'p') and (l.table_oid is not null or p.oid is not null
      or exists (select from svc.realtime_subscriptions s where s.table_schema = n.nspname and s.table_name = c.relname)
      or exists (select from svc.realtime_subscriptions s where s.table_oid = c.oid)
      or exists (select from svc.webhooks w where w.table_schema = n.nspname and w.table_name = c.relname))) t
  where should <> (noted and published) or should <> (noted or published)
    or (should and (identity <> 'f' or triggers <> '{}'))`

/** Serializes changes of a table's source ($1: its oid). */
export const lockSourceSql = `select pg_advisory_xact_lock(hashtextextended('svc change source ' || $1::text, 0))`

/** Reads types; $1: their oids. */
export const typesSql = `select oid::int8::float8 as oid, case when typtype = 'd' then typbasetype else 0 end::int8::float8 as base,
    case when typcategory = 'A' and typtype = 'b' then typelem else 0 end::int8::float8 as element,
    coalesce((select e.typdelim from pg_type e where e.oid = t.typelem), ',')::text as delimiter
  from pg_type t where oid = any ($1::text[]::oid[])`

/** Characters in a piece; pg_notify takes 7,999 bytes, and a character has at most 4. */
const piece = 1_950

/**
 * Passes changes on, and records that they are handled, in one statement. $1 JSON: the tables, `[{r, oid, schema, name}]`;
 * then a text[] each: $2 the table's r, $3 operations, $4 the µs since 1970 of the commits, $5 the rest of their JSON, from
 * the rows on; $6 what realtime clients get: empty: the same; `none`: nothing; else the JSON after the operation; $7 their
 * positions, from which messages get their ids. $8: where the last one is: a transaction's commit, $9: the number of its
 * changes.
 *
 * The commit does not wait for the disk, and a crash of PostgreSQL may undo it. The log is kept until it is on disk, so
 * that the changes are then read again; the messages get the ids that they had, which receivers may have seen already.
 *
 * An event is sent in pieces `change,piece,last|text`, which differ, because PostgreSQL sends equal notifications of one
 * transaction once. Several events in one notification would save less than 10 % of the time, most of which the texts
 * take. While PostgreSQL's queue is half full, because a listener does not read, events are replaced by gaps.
 */
export const passOnSql = `
  with rel as materialized (
    select r.r, r.schema, r.name, ',"schema":' || to_json(r.schema)::text || ',"table":' || to_json(r.name)::text as place,
      ${subscribedSql("r.oid::oid", "r.schema", "r.name")} as feed
    from json_to_recordset($1::text::json) as r(r int, oid int8, schema text, name text)),
  lazily as materialized (select set_config('synchronous_commit', 'off', true)),
  change as materialized (
    select r::int, op, micros::int8, rest, form, position, n
    from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      with ordinality as c(r, op, micros, rest, form, position, n)),
  position as (
    insert into svc.change_log (slot, lsn, done) values (${slotSql}, $8::text::pg_lsn, $9::text::int8)
    on conflict (slot) do update set lsn = excluded.lsn, done = excluded.done, updated_at = now()),
  queued as (
    insert into svc.webhook_messages (message_id, webhook_id, event_type, payload)
    select ${uuidOf("w.id::text || ' ' || c.micros::text || ' ' || c.position")}, w.id, c.op,
      '{"event":"' || c.op || '"' || rel.place || c.rest
    from change c join rel using (r) join svc.webhooks w on w.table_schema = rel.schema and w.table_name = rel.name
      and w.active and c.op = any (w.events)
      and w.created_at <= timestamptz 'epoch' + (c.micros / 1000 + 1) * interval '1 ms'
    order by c.n, w.id returning 1),
  queue as materialized (select pg_notification_queue_usage() < 0.5 as room),
  event as (
    select c.n, '{"id":' || c.micros::text || rel.place || ',"operation":"' || c.op || '"' || case
        when not queue.room then ',"gap":true}'
        when c.form = '' then c.rest
        else c.form end as text
    from change c join rel using (r) cross join queue where rel.feed and c.form <> 'none'
      and (queue.room or c.n = 1)),
  sent as materialized (
    select case when last = 0 then pg_notify('${logChannel}', n::text || ',0,0|' || text)::text else (
        select string_agg(pg_notify('${logChannel}', concat(n, ',', i, ',', last, '|') || substr(text, 1 + i * ${piece}, ${piece}))::text, '')
        from generate_series(0, last) i) end
    from (select n, text, (length(text) - 1) / ${piece} as last from event order by n) e)
  select (select count(*) from lazily)::int as lazily, (select count(*) from sent)::int as sent,
    (select count(pg_notify('svc_webhooks', '')) from (select from queued limit 1) q)::int as woken`

/** How far PostgreSQL has written its log, and how much of that is on disk. */
export const writtenSql =
  "select pg_current_wal_insert_lsn()::text as written, pg_current_wal_flush_lsn()::text as flushed"

/**
 * Records that changes are missing, before the slot is made again. $1: the reason. The position of the log before is
 * removed, because positions of the new slot have nothing to do with it.
 */
export const recordGapSql = `with last as (delete from svc.change_log where slot = ${slotSql} returning lsn, updated_at)
  insert into svc.change_gaps (slot, reason, after_lsn, after_at, until_lsn, tables)
  select ${slotSql}, $1, (select lsn from last), (select updated_at from last), pg_current_wal_lsn(),
    array(select quote_ident(n.nspname) || '.' || quote_ident(c.relname) from svc.change_tables t
      join pg_class c on c.oid = t.table_oid join pg_namespace n on n.oid = c.relnamespace order by 1)
  where exists (select from last) or exists (select from svc.change_tables) returning id`

/** Passes on that events are missing; once for each gap. */
export const announceGapsSql = `with news as (
    update svc.change_gaps set announced = true, until_lsn = pg_current_wal_lsn(), until_at = now() where slot = ${slotSql} and not announced
    returning reason, after_at, tables),
  sent as materialized (select pg_notify('${logChannel}',
    '1,0,0|{"id":' || (extract(epoch from clock_timestamp()) * 1000000)::int8::text
    || ',"schema":"","table":"","operation":"INSERT","gap":true}') from (select from news limit 1) n)
  select reason, to_char(after_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as after, tables, (select count(*) from sent)::int as sent,
    array(select w.id::text from svc.webhooks w where w.active and w.deleted_at is null
      and quote_ident(w.table_schema) || '.' || quote_ident(w.table_name) = any (tables) order by w.id limit 100) as webhooks
  from news`
