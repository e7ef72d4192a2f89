import { statements } from "./statements.ts"

/**
 * Statements that run at times, and their runs. The defaults are those of pg_cron, for rows that its users insert. Any role
 * may own a row, as `role`: triggers therefore run without more rights than the writer has.
 *
 * `next_at` is null until a process of the service has read the expression.
 */
export const schedules = statements(
  `create table svc.schedules (
     id int generated always as identity primary key,
     name text check (char_length(name) <= 200),
     origin text not null default 'cron',
     expression text not null check (char_length(expression) <= 200),
     timezone text not null default 'GMT' check (char_length(timezone) <= 100),
     kind text not null default 'sql',
     command text not null default '' check (octet_length(command) <= 262144),
     target jsonb not null default '{}',
     secret text,
     role text not null,
     role_oid oid,
     active boolean not null default true,
     overlap text not null default 'queue',
     catch_up text not null default 'skip',
     timeout_ms int not null default 3600000,
     retries int not null default 0,
     problem text,
     next_at timestamptz,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  "create unique index schedules_name on svc.schedules (name) where origin = 'api'",
  "create unique index schedules_own_name on svc.schedules (name) where origin = 'own'",
  "create unique index schedules_cron_name on svc.schedules (role, name) where origin = 'cron'",
  "create index on svc.schedules (next_at) where active",
  `create table svc.schedule_runs (
     id bigint generated always as identity primary key,
     schedule_id int not null references svc.schedules on delete cascade,
     origin text not null,
     role text not null,
     cause text not null,
     scheduled_at timestamptz not null,
     due_at timestamptz not null default now(),
     status text not null,
     attempt int not null default 0,
     started_at timestamptz,
     finished_at timestamptz,
     result text,
     error text,
     claim uuid,
     lease_until timestamptz,
     backend_pid int,
     backend_start timestamptz
   )`,
  "create unique index schedule_runs_once on svc.schedule_runs (schedule_id, scheduled_at) where cause = 'time'",
  "create index on svc.schedule_runs (schedule_id, id desc)",
  "create index on svc.schedule_runs (due_at, id) where status = 'pending'",
  "create index on svc.schedule_runs (schedule_id, lease_until) where status = 'running'",
  "create index on svc.schedule_runs (finished_at)",
  `create function svc.prepare_schedule() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
   begin
     new.next_at := null;
     new.problem := null;
     new.updated_at := now();
     new.role_oid := (select oid from pg_roles where rolname = new.role);
     return new;
   end $$`,
  `create function svc.notify_schedules() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
   begin
     perform pg_notify('svc_schedules', '');
     return null;
   end $$`,
  `create trigger svc_prepare before insert or update of expression, timezone, active, role on svc.schedules
     for each row execute function svc.prepare_schedule()`,
  `create trigger svc_notify after insert or update of expression, timezone, active, role on svc.schedules
     for each statement execute function svc.notify_schedules()`
)
