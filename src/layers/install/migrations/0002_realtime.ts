import { statements } from "./statements.ts"

/**
 * The notification of a changed row: JSON with an id (microseconds since 1970; also prevents PostgreSQL from merging equal
 * notifications of one transaction), schema, table, operation, row, old_row and timestamp. It has at most 7,999 bytes,
 * because pg_notify rejects more and its error would fail the write. A larger row is reduced to its primary key and the
 * columns that fit, and has `truncated`.
 *
 * Arguments of the trigger: the channel; the oid of the watched table, which in a partition is not the relation that
 * fires; and `virtual` if there are virtual generated columns (PostgreSQL 18), for which NEW and OLD contain null:
 * detecting them for each row would be too expensive.
 *
 * It runs as the writer, without privileges of the service. Any failure in it is a warning, never an error, because it
 * must not fail the user's write. Beyond 10,000 rows per transaction, or while PostgreSQL's queue is half full because a
 * listener does not read, one `gap` replaces the rows; once it is nearly full, nothing is sent. An unbounded number would
 * exhaust the writer's memory, and a full queue would fail its COMMIT.
 */
const notifyRowChange = `create function svc.notify_row_change() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  largest constant int := 7999;
  most constant int := 10000;
  now_at constant timestamptz := clock_timestamp();
  told int;
  watched_schema text := tg_table_schema;
  watched_table text := tg_table_name;
  head text;
  tail text;
  payload text;
  new_row json;
  old_row json;
  keys text[];
  new_part text := '';
  old_part text := '';
  room int;
  item record;
  columns text;
begin
  begin
    told := coalesce(nullif(current_setting('svc.realtime_told', true), ''), '0')::int + 1;
    if told > most + 1 then return null; end if;
    perform set_config('svc.realtime_told', told::text, true);

    if tg_argv[1]::oid <> tg_relid then
      -- An ancestor only: after a restore the number may be that of some other table.
      select n.nspname, c.relname into watched_schema, watched_table
        from pg_partition_ancestors(tg_relid) a join pg_class c on c.oid = a.relid
          join pg_namespace n on n.oid = c.relnamespace where c.oid = tg_argv[1]::oid;
      if not found then watched_schema := tg_table_schema; watched_table := tg_table_name; end if;
    end if;
    head := '{"id":' || (extract(epoch from now_at) * 1000000)::bigint || ',"schema":' || to_json(watched_schema)::text
      || ',"table":' || to_json(watched_table)::text || ',"operation":"' || tg_op || '"';
    tail := ',"timestamp":"' || to_char(now_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"';

    if told > most or (told % 500 = 1 and pg_notification_queue_usage() > 0.5) then
      perform set_config('svc.realtime_told', (most + 1)::text, true);
      if pg_notification_queue_usage() < 0.9 then perform pg_notify(tg_argv[0], head || tail || ',"gap":true}');
      else raise warning 'svc: PostgreSQL''s notification queue is nearly full; realtime clients are told nothing';
      end if;
      return null;
    end if;

    if tg_op <> 'DELETE' then new_row := row_to_json(new); end if;
    if tg_op <> 'INSERT' then old_row := row_to_json(old); end if;
    if tg_nargs > 2 then
      select string_agg(case attgenerated when 'v' then pg_get_expr(adbin, adrelid) || ' as ' else 'r.' end
          || quote_ident(attname), ',' order by attnum) into columns
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = tg_relid and attnum > 0 and not attisdropped;
      columns := 'select row_to_json(x) from (select ' || columns || ' from (select ($1).*) r) x';
      if tg_op <> 'DELETE' then execute columns into new_row using new; end if;
      if tg_op <> 'INSERT' then execute columns into old_row using old; end if;
    end if;
    payload := head || ',"row":' || coalesce(new_row::text, 'null') || ',"old_row":' || coalesce(old_row::text, 'null')
      || tail || '}';

    if octet_length(payload) > largest then
      select array_agg(a.attname::text) into keys
        from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
        where i.indrelid = tg_relid and i.indisprimary;
      tail := tail || ',"truncated":true';
      room := largest - octet_length(head || ',"row":{},"old_row":{}' || tail || '}');
      -- The key of both rows first; then the new row's columns in their order, then the old one's.
      for item in
        select side, to_json(key)::text || ':' || value::text as piece
        from (
          select 'new' as side, key, value, n from json_each(new_row) with ordinality as e (key, value, n)
          union all
          select 'old', key, value, n from json_each(old_row) with ordinality as e (key, value, n)
        ) parts
        order by (key = any (keys)) is not true, side, n
      loop
        exit when room < 6;
        continue when octet_length(item.piece) >= room;
        room := room - octet_length(item.piece) - 1;
        if item.side = 'new' then new_part := new_part || ',' || item.piece;
        else old_part := old_part || ',' || item.piece;
        end if;
      end loop;
      payload := head
        || ',"row":' || case when new_row is null then 'null' else '{' || substr(new_part, 2) || '}' end
        || ',"old_row":' || case when old_row is null then 'null' else '{' || substr(old_part, 2) || '}' end
        || tail || '}';
    end if;

    perform pg_notify(tg_argv[0], payload);
  exception when others or assert_failure then
    raise warning 'svc: a change of %.% was not told to realtime clients: %', tg_table_schema, tg_table_name, sqlerrm;
  end;
  return null;
end $$`

/** A subscription outlives its table; `table_oid` is how a renamed one is found. */
export const realtime = statements(
  `create table svc.realtime_subscriptions (
     id integer generated always as identity primary key,
     table_schema text not null,
     table_name text not null,
     table_oid oid not null,
     channel text not null,
     created_at timestamptz not null default now(),
     unique (table_schema, table_name)
   )`,
  `create function svc.notify_realtime() returns trigger language plpgsql set search_path = pg_catalog as $$
   begin
     perform pg_notify('svc_realtime', 'subscriptions');
     return null;
   end $$`,
  `create trigger notify_realtime after insert or update or delete on svc.realtime_subscriptions
     for each statement execute function svc.notify_realtime()`,
  notifyRowChange
)
