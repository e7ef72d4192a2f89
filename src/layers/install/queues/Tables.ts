import { queueWakeUpLock } from "../../../domain/sql/AdvisoryLocks.ts"

/** Of every function: names in it can't be taken by objects of the caller's schemas. */
export const fixedPath = "set search_path = pg_catalog, pg_temp"

/**
 * Types, the list of queues, and what the functions share. `max_reads` is ours; the rest is as in the
 * extension pgmq, whose names clients use.
 */
const shared = [
  `create type pgmq.message_record as (msg_id bigint, read_ct integer, enqueued_at timestamptz, last_read_at timestamptz,
     vt timestamptz, message jsonb, headers jsonb)`,
  `create type pgmq.queue_record as (queue_name varchar, is_partitioned boolean, is_unlogged boolean, created_at timestamptz)`,
  `create type pgmq.metrics_result as (queue_name text, queue_length bigint, newest_msg_age_sec integer,
     oldest_msg_age_sec integer, total_messages bigint, scrape_time timestamptz, queue_visible_length bigint)`,
  `create table pgmq.meta (
     queue_name varchar primary key,
     is_partitioned boolean not null default false,
     is_unlogged boolean not null default false,
     created_at timestamptz not null default now(),
     max_reads integer check (max_reads is null or max_reads > 0 and length(queue_name) <= 42)
   )`,
  `create unique index meta_table on pgmq.meta (lower(queue_name))`,
  `comment on column pgmq.meta.max_reads is 'reads after which a message that becomes visible again is a dead letter'`,
  // The quoted name of a queue's table. Every name that reaches dynamic SQL comes from here.
  `create function pgmq.svc_table(prefix text, queue_name text) returns text language plpgsql stable ${fixedPath} as $$
   begin
     if queue_name is null or (queue_name collate "C") !~ '^[A-Za-z0-9_-]{1,47}$' then
       raise invalid_parameter_value using message = 'The name of a queue must have 1 to 47 letters, digits, _ or -';
     end if;
     return 'pgmq.' || quote_ident(prefix || '_' || lower(queue_name collate "C"));
   end $$`,
  `create function pgmq.svc_seconds(what text, seconds integer) returns interval language plpgsql stable ${fixedPath} as $$
   begin
     if seconds is null or seconds < 0 then
       raise invalid_parameter_value using message = format('%s must be 0 seconds or more', what);
     end if;
     return make_interval(secs => seconds);
   end $$`,
  // Sends a notification only while a receiver waits, because NOTIFY serializes commits (services/WakeUps.ts).
  `create function pgmq.svc_notify(queue_name text) returns void language plpgsql ${fixedPath} as $$
   begin
     if not pg_try_advisory_xact_lock_shared(${queueWakeUpLock}) then
       perform pg_notify('svc_queues', lower(queue_name collate "C"));
     end if;
   end $$`,
  `create function pgmq.svc_wake() returns trigger language plpgsql ${fixedPath} as $$
   begin
     perform pgmq.svc_notify(substr(tg_table_name::text, 3));
     return null;
   end $$`
]

/**
 * What readers have no right to: they need not see the list of queues, nor the queue of dead letters. With its owner's
 * rights, a trigger moves a message that the caller has updated, if every reader would move it.
 */
const dying = [
  `create function pgmq.svc_max_reads(queue_name text) returns integer language sql stable security definer ${fixedPath}
     begin atomic select m.max_reads from pgmq.meta m where lower(m.queue_name) = lower(svc_max_reads.queue_name collate "C"); end`,
  `create function pgmq.svc_bury() returns trigger language plpgsql security definer ${fixedPath} as $$
   declare
     called text;
     most integer;
   begin
     select m.queue_name, m.max_reads into called, most from pgmq.meta m where lower(m.queue_name) = substr(tg_table_name::text, 3);
     if most is null or new.read_ct < most or new.vt > clock_timestamp() then return null; end if;
     perform pgmq.svc_create(called || '_dead', false);
     execute format('with dead as (delete from %s where msg_id = $1 returning *)
       insert into %s (vt, message, headers) select clock_timestamp(), message,
         case when jsonb_typeof(headers) = ''object'' then headers else ''{}'' end || jsonb_build_object(''x-svc-dead'',
           jsonb_build_object(''queue'', $2, ''msg_id'', msg_id, ''read_ct'', read_ct, ''enqueued_at'', enqueued_at)
           || case when jsonb_typeof(headers) <> ''object'' then jsonb_build_object(''headers'', headers) else ''{}'' end)
       from dead', pgmq.svc_table('q', called), pgmq.svc_table('q', called || '_dead')) using new.msg_id, called;
     return null;
   end $$`
]

/** Tables have row-level security, so that a grant alone shows no messages: a policy says which. */
const management = [
  `create function pgmq.svc_create(queue_name text, unlogged boolean) returns void language plpgsql ${fixedPath} as $$
   declare
     q text := pgmq.svc_table('q', queue_name);
     a text := pgmq.svc_table('a', queue_name);
     short text := lower(queue_name collate "C");
     taken text;
   begin
     perform pg_advisory_xact_lock(hashtextextended('pgmq:' || short, 0));
     select m.queue_name into taken from pgmq.meta m where lower(m.queue_name) = short;
     if taken = queue_name then return; end if;
     if taken is not null then
       raise duplicate_object using message = format('A queue %s exists, whose name differs in case only', quote_ident(taken));
     end if;
     insert into pgmq.meta (queue_name, is_unlogged) values (queue_name, unlogged);
     execute format('create %s table %s (
       msg_id bigint generated always as identity primary key,
       read_ct integer not null default 0,
       enqueued_at timestamptz not null default now(),
       last_read_at timestamptz,
       vt timestamptz not null default clock_timestamp(),
       message jsonb,
       headers jsonb) with (autovacuum_vacuum_scale_factor = 0.05)', case when unlogged then 'unlogged' end, q);
     execute format('create table %s (
       msg_id bigint primary key,
       read_ct integer not null default 0,
       enqueued_at timestamptz not null default now(),
       last_read_at timestamptz,
       archived_at timestamptz not null default now(),
       vt timestamptz not null,
       message jsonb,
       headers jsonb)', a);
     execute format('create index %I on %s (vt)', 'q_' || short || '_vt_idx', q);
     execute format('create index %I on %s (archived_at)', 'archived_at_idx_' || short, a);
     execute format('alter table %s enable row level security', q);
     execute format('alter table %s enable row level security', a);
     execute format('create trigger svc_wake after insert on %s for each statement execute function pgmq.svc_wake()', q);
     execute format('create trigger svc_bury after update of enqueued_at on %s for each row execute function pgmq.svc_bury()', q);
   end $$`,
  `create function pgmq."create"(queue_name text) returns void language sql ${fixedPath}
     begin atomic select pgmq.svc_create(queue_name, false); end`,
  `create function pgmq.create_non_partitioned(queue_name text) returns void language sql ${fixedPath}
     begin atomic select pgmq.svc_create(queue_name, false); end`,
  `create function pgmq.create_unlogged(queue_name text) returns void language sql ${fixedPath}
     begin atomic select pgmq.svc_create(queue_name, true); end`,
  `create function pgmq.drop_queue(queue_name text) returns boolean language plpgsql ${fixedPath} as $$
   declare
     q text := pgmq.svc_table('q', queue_name);
     a text := pgmq.svc_table('a', queue_name);
   begin
     delete from pgmq.meta m where lower(m.queue_name) = lower(drop_queue.queue_name collate "C");
     if not found then return false; end if;
     execute format('drop table if exists %s, %s', q, a);
     return true;
   end $$`,
  `create function pgmq.purge_queue(queue_name text) returns bigint language plpgsql ${fixedPath} as $$
   declare deleted bigint;
   begin
     execute format('delete from %s', pgmq.svc_table('q', queue_name));
     get diagnostics deleted = row_count;
     return deleted;
   end $$`,
  `create function pgmq.list_queues() returns setof pgmq.queue_record language sql stable ${fixedPath}
     begin atomic select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at from pgmq.meta m order by 1; end`,
  `create function pgmq.metrics(queue_name text) returns pgmq.metrics_result language plpgsql ${fixedPath} as $$
   declare
     q text := pgmq.svc_table('q', queue_name);
     counters text;
     result pgmq.metrics_result;
   begin
     counters := pg_get_serial_sequence(q, 'msg_id');
     execute format('select $1, count(*), extract(epoch from $2 - max(enqueued_at))::int,
         extract(epoch from $2 - min(enqueued_at))::int,
         case when has_sequence_privilege($3, ''select'') then coalesce(pg_sequence_last_value($3::regclass), 0) end,
         $2, count(*) filter (where vt <= $2) from %s', q)
       into result using queue_name, clock_timestamp(), counters;
     return result;
   end $$`,
  `create function pgmq.metrics_all() returns setof pgmq.metrics_result language sql ${fixedPath}
     begin atomic select m.* from pgmq.meta q cross join lateral pgmq.metrics(q.queue_name::text) m order by 1; end`,
  // What read_grouped looks up. An index in a transaction locks out senders until it is made.
  `create function pgmq.create_fifo_index(queue_name text) returns void language plpgsql ${fixedPath} as $$
   begin
     execute format('create index if not exists %I on %s (coalesce(headers->>''x-pgmq-group'', ''''), msg_id)',
       'q_' || lower(queue_name collate "C") || '_group_idx', pgmq.svc_table('q', queue_name));
   end $$`
]

/** Everything but what concerns messages. */
export const queueTables: ReadonlyArray<string> = [...shared, ...management, ...dying]
