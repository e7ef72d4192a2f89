import { wakeUpLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { statements } from "./statements.ts"

/**
 * The trigger function of all watched tables. An ordinary table has three statement-level triggers, with transition
 * tables. A partitioned table has one row-level trigger, with the oid of the watched table as argument because its
 * partitions fire it. Tables with virtual generated columns (PostgreSQL 18) have that trigger too, with an argument for
 * them: NEW, OLD and transition tables contain null for these columns.
 *
 * A failure in it is a warning and never fails the write. Its owner is a role without further privileges
 * (layers/install/Install.ts), because a column's type may run code when a row is converted to JSON. The settings are
 * those that determine how PostgreSQL prints values.
 *
 * NOTIFY serializes commits, so it is sent only while a sleeping worker holds the lock to request it
 * (services/WakeUps.ts).
 */
const enqueue = `create function svc.enqueue_webhooks() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp
   set timezone = 'UTC' set datestyle = 'ISO, YMD' set intervalstyle = 'postgres'
   set bytea_output = 'hex' set extra_float_digits = 1
   as $$
   #variable_conflict use_variable
   declare
     source_schema text := tg_table_schema;
     source_table text := tg_table_name;
     head text;
     tail text;
     new_row json;
     old_row json;
     columns text;
   begin
     if tg_level = 'ROW' and tg_argv[0]::oid <> tg_relid then
       -- An ancestor only: after a restore the number may be that of some other table.
       select n.nspname, c.relname into source_schema, source_table
         from pg_partition_ancestors(tg_relid) a join pg_class c on c.oid = a.relid
           join pg_namespace n on n.oid = c.relnamespace where c.oid = tg_argv[0]::oid;
       if not found then source_schema := tg_table_schema; source_table := tg_table_name; end if;
     end if;
     head := '{"event":"' || tg_op || '","schema":' || to_json(source_schema) || ',"table":' || to_json(source_table)
       || ',"row":';
     tail := ',"timestamp":"' || to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
     if tg_level = 'ROW' then
       if tg_nargs = 1 then
         if tg_op <> 'DELETE' then new_row := row_to_json(new); end if;
         if tg_op <> 'INSERT' then old_row := row_to_json(old); end if;
       else
         select string_agg(case attgenerated when 'v' then pg_get_expr(adbin, adrelid) || ' as ' else 'r.' end
             || quote_ident(attname), ',' order by attnum) into columns
           from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
           where attrelid = tg_relid and attnum > 0 and not attisdropped;
         columns := 'select row_to_json(x) from (select ' || columns || ' from (select ($1).*) r) x';
         if tg_op <> 'DELETE' then execute columns into new_row using new; end if;
         if tg_op <> 'INSERT' then execute columns into old_row using old; end if;
       end if;
       insert into svc.webhook_messages (webhook_id, event_type, payload)
         select w.id, tg_op, head || coalesce(new_row::text, 'null')
           || ',"old_row":' || coalesce(old_row::text, 'null') || tail
         from svc.webhooks w
         where w.table_schema = source_schema and w.table_name = source_table and w.active and tg_op = any (w.events);
     elsif tg_op = 'INSERT' then
       insert into svc.webhook_messages (webhook_id, event_type, payload)
         select w.id, tg_op, head || row_to_json(new_rows.*)::text || ',"old_row":null' || tail
         from svc.webhooks w cross join new_rows
         where w.table_schema = source_schema and w.table_name = source_table and w.active and tg_op = any (w.events);
     elsif tg_op = 'DELETE' then
       insert into svc.webhook_messages (webhook_id, event_type, payload)
         select w.id, tg_op, head || 'null,"old_row":' || row_to_json(old_rows.*)::text || tail
         from svc.webhooks w cross join old_rows
         where w.table_schema = source_schema and w.table_name = source_table and w.active and tg_op = any (w.events);
     else
       -- Both have a row for each one changed, in the same order.
       insert into svc.webhook_messages (webhook_id, event_type, payload)
         select w.id, tg_op, head || n.j || ',"old_row":' || o.j || tail
         from svc.webhooks w
           cross join (select row_number() over () as i, row_to_json(new_rows.*)::text as j from new_rows) n
           join (select row_number() over () as i, row_to_json(old_rows.*)::text as j from old_rows) o on o.i = n.i
         where w.table_schema = source_schema and w.table_name = source_table and w.active and tg_op = any (w.events);
     end if;
     if found and not pg_try_advisory_xact_lock_shared(${wakeUpLock}) then
       perform pg_notify('svc_webhooks', '');
     end if;
     return null;
   exception when others or assert_failure then
     raise warning 'svc: a webhook of %.% misses a change: % (%)', source_schema, source_table, sqlerrm, sqlstate;
     return null;
   end $$`

/**
 * Webhooks: which of them is notified of which table, what is to be sent and was sent, and the log of all attempts.
 *
 * `svc.webhook_messages` is outbox and archive in one. It has no foreign key to `svc.webhooks`, so that a user's write
 * neither waits for a webhook's row nor makes others wait.
 */
export const webhooks = statements(
  `create table svc.webhooks (
     id integer generated always as identity primary key,
     name text not null default '' check (char_length(name) <= 100),
     table_schema text not null,
     table_name text not null,
     events text[] not null check (events <> '{}' and events <@ '{INSERT,UPDATE,DELETE}'::text[]),
     url text not null,
     headers jsonb not null default '{}',
     secret text,
     active boolean not null default true,
     fail_count integer not null default 0,
     disabled_at timestamptz,
     disabled_reason text,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now(),
     deleted_at timestamptz
   )`,
  `comment on column svc.webhooks.deleted_at is 'the row stays until what it leaves behind is cleared away'`,
  `create index webhooks_table on svc.webhooks (table_schema, table_name)`,
  // Every delivery updates a row twice, so the table is vacuumed before dead versions outnumber live rows.
  `create table svc.webhook_messages (
     id bigint generated always as identity primary key,
     message_id uuid not null default gen_random_uuid(),
     webhook_id integer not null,
     event_type text not null,
     payload text not null,
     attempt integer not null default 0,
     next_attempt_at timestamptz default now(),
     claim uuid,
     created_at timestamptz not null default now()
   ) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.5)`,
  `comment on column svc.webhook_messages.payload is 'the bytes that are sent'`,
  `comment on column svc.webhook_messages.next_attempt_at is 'end of the lease while a worker has it; null: done'`,
  `create index webhook_messages_due on svc.webhook_messages (webhook_id, next_attempt_at, id)
     where next_attempt_at is not null`,
  `create table svc.webhook_logs (
     id bigint generated always as identity primary key,
     webhook_id integer not null,
     message_id bigint not null references svc.webhook_messages on delete cascade,
     attempt integer not null,
     event_type text not null,
     status_code integer,
     response_body text,
     error text,
     latency_ms integer not null,
     created_at timestamptz not null default now()
   )`,
  `create index webhook_logs_newest on svc.webhook_logs (webhook_id, id desc)`,
  `create index webhook_logs_message on svc.webhook_logs (message_id)`,
  enqueue
)
