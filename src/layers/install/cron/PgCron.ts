import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { text } from "../../../domain/Settings.ts"
import { quoteName } from "../../../domain/sql/Names.ts"
import { statements } from "../migrations/statements.ts"

/** Rows of the role that asks; all for a superuser, as in pg_cron. */
const mine = `origin = 'cron' and (role = current_user::text
  or exists (select from pg_catalog.pg_roles r where r.rolname = current_user and r.rolsuper))`

/**
 * Raises pg_cron's error unless it is one of its schedules: five fields of numbers, names, ranges, steps and lists, `$` as
 * the last day of a month, an interval of seconds, or a nickname.
 */
const check = `create function cron.svc_check(schedule text) returns void language plpgsql stable
   set search_path = pg_catalog, pg_temp as $$
   declare
     fields text[] := regexp_split_to_array(lower(btrim(schedule)), '\\s+');
     low int[] := '{0,0,1,1,0}';
     high int[] := '{59,23,31,12,7}';
     months text[] := '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}';
     days text[] := '{sun,mon,tue,wed,thu,fri,sat}';
     part text;
     found text[];
     ends int[];
     valid boolean := true;
   begin
     if lower(btrim(schedule)) ~ '^[1-9]\\d? +seconds?$' then
       valid := substring(btrim(schedule) from '^\\d+')::int < 60;
     elsif lower(btrim(schedule)) in ('@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly') then
       valid := true;
     elsif coalesce(array_length(fields, 1), 0) <> 5 then
       valid := false;
     else
       for i in 1..5 loop
         foreach part in array string_to_array(fields[i], ',') loop
           continue when i = 3 and part = '$';
           if i = 4 or i = 5 then
             for j in 1..coalesce(array_length(case i when 4 then months else days end, 1), 0) loop
               part := replace(part, (case i when 4 then months else days end)[j], (case i when 4 then j else j - 1 end)::text);
             end loop;
           end if;
           found := regexp_match(part, '^(?:\\*|(\\d{1,2})(?:-(\\d{1,2}))?)(?:/([1-9]\\d?))?$');
           ends := array[found[1]::int, coalesce(found[2], found[1])::int];
           if found is null or ends[1] < low[i] or ends[2] > high[i] or ends[1] > ends[2]
             or (found[3] is not null and found[1] is not null and found[2] is null) then
             valid := false;
           end if;
         end loop;
       end loop;
     end if;
     if valid is not true then
       raise exception 'invalid schedule: %', schedule using errcode = '22023',
         hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
     end if;
   end $$`

const body = (text: string) =>
  `language plpgsql set search_path = pg_catalog, pg_temp as $$ #variable_conflict use_column\n ${text} $$`

const refused = `raise exception 'schedule_in_database is not supported: jobs run in the database that they are in'
  using errcode = '0A000', hint = 'Use cron.schedule, or a second service on the other database';`

/**
 * The names of pg_cron over svc.schedules. The functions have no rights of their own: what a role may write is decided by the
 * views, whose condition also holds for new rows, so that a job always is of the role that makes it.
 */
const made = (owner: string) =>
  statements(
    "create schema cron",
    `create view cron.job with (security_barrier, check_option = cascaded) as
       select id::bigint as jobid, expression as schedule, command, 'localhost'::text as nodename,
         current_setting('port')::int as nodeport, current_database()::text as database, role as username, active,
         name as jobname
       from svc.schedules where ${mine}`,
    `create view cron.job_run_details with (security_barrier) as
       select schedule_id::bigint as jobid, id as runid, backend_pid as job_pid, current_database()::text as database,
         role as username, (select s.command from svc.schedules s where s.id = schedule_id) as command,
         case status when 'pending' then 'starting' when 'skipped' then 'failed' when 'interrupted' then 'failed'
           else status end as status,
         coalesce(error, result) as return_message, started_at as start_time, finished_at as end_time
       from svc.schedule_runs where ${mine}`,
    check,
    `create function cron.schedule(job_name text, schedule text, command text) returns bigint ${body(`
     declare
       id bigint;
     begin
       perform cron.svc_check($2);
       if $1 is null then
         raise exception 'job_name can not be NULL' using errcode = '22004';
       end if;
       update cron.job j set schedule = $2, command = $3 where j.jobname = $1 and j.username = current_user::text
         returning j.jobid into id;
       if id is null then
         insert into cron.job (jobname, schedule, command, username) values ($1, $2, $3, current_user)
           returning jobid into id;
       end if;
       return id;
     end`)}`,
    `create function cron.schedule(schedule text, command text) returns bigint ${body(`
     declare
       id bigint;
     begin
       perform cron.svc_check($1);
       insert into cron.job (schedule, command, username) values ($1, $2, current_user) returning jobid into id;
       return id;
     end`)}`,
    `create function cron.schedule_in_database(job_name text, schedule text, command text, database text,
       username text default null, active boolean default true) returns bigint ${body(`begin ${refused} end`)}`,
    `create function cron.unschedule(job_id bigint) returns boolean ${body(`
     begin
       delete from cron.job j where j.jobid = $1;
       if not found then
         raise exception 'could not find valid entry for job ''%''', $1;
       end if;
       return true;
     end`)}`,
    `create function cron.unschedule(job_name text) returns boolean ${body(`
     begin
       delete from cron.job j where j.jobname = $1 and j.username = current_user::text;
       if not found then
         raise exception 'could not find valid entry for job ''%''', $1;
       end if;
       return true;
     end`)}`,
    `create function cron.alter_job(job_id bigint, schedule text default null, command text default null,
       database text default null, username text default null, active boolean default null) returns void ${body(`
     begin
       if $2 is not null then
         perform cron.svc_check($2);
       end if;
       if $4 is not null and $4 <> current_database()::text then
         ${refused}
       end if;
       update cron.job j set schedule = coalesce($2, j.schedule), command = coalesce($3, j.command),
         username = coalesce($5, j.username), active = coalesce($6, j.active) where j.jobid = $1;
       if not found then
         raise exception 'Job % does not exist or you don''t own it', $1;
       end if;
     end`)}`,
    "grant select, delete on cron.job, cron.job_run_details to public",
    "grant insert (schedule, command, username, active, jobname), update (schedule, command, username, active, jobname) on cron.job to public",
    `grant usage on schema cron to ${owner} with grant option`
  )

/** Not in a database that has pg_cron, or can have it. */
export const pgCron = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const real = yield* sql`
    select from pg_available_extensions where name = 'pg_cron' and comment not like 'a placeholder %'
    union all select from pg_namespace where nspname = 'cron'`
  if (real.length > 0) return
  yield* made(quoteName(yield* text("SVC_SERVICE_ROLE", "postgres")))
})
