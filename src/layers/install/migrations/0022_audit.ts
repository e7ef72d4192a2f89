import { statements } from "./statements.ts"

/** Entries that are younger can't be deleted, whatever the retention. */
const youngest = "interval '30 days'"

/**
 * Who changed what by the management API. Entries are only added: a trigger refuses UPDATE, TRUNCATE, and DELETE, even to
 * the tables' owner and to superusers. svc.prune_audit() alone deletes, and only old entries. Documents are `json`, because
 * `jsonb` can't store every string of JSON.
 */
export const audit = statements(
  `create table svc.audit (
     id bigint generated always as identity primary key,
     at timestamptz not null default clock_timestamp(),
     actor_type text not null check (actor_type in ('key', 'identity', 'service', 'unknown')),
     actor_id text collate "C" not null,
     actor_label text not null,
     dashboard boolean not null,
     action text collate "C" not null,
     subject text collate "C" not null,
     outcome text not null check (outcome in ('done', 'failed', 'refused')),
     status integer,
     code text,
     before json,
     after json,
     request_id text collate "C",
     address text
   )`,
  "create index audit_at on svc.audit (at)",
  "create index audit_actor on svc.audit (actor_type, actor_id, id)",
  "create index audit_action on svc.audit (action, id)",
  "create index audit_subject on svc.audit (subject, id)",
  "create index audit_request on svc.audit (request_id)",
  // Each replica that meets an administrator's session reports it; the first report counts.
  `create unique index audit_session on svc.audit (subject) where action = 'session.sign_in'`,
  `create function svc.protect_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
   begin
     if tg_op = 'DELETE' then
       if current_setting('svc.prune_audit', true) = 'on' and old.at < now() - ${youngest} then return old; end if;
     end if;
     raise exception 'svc.audit is append-only' using errcode = 'insufficient_privilege',
       hint = 'Old entries are deleted by svc.prune_audit(), as SVC_AUDIT_DAYS says';
   end $$`,
  `create trigger protect_rows before update or delete on svc.audit
     for each row execute function svc.protect_audit()`,
  `create trigger protect_table before truncate on svc.audit
     for each statement execute function svc.protect_audit()`,
  // The triggers also fire with session_replication_role = replica, which otherwise turns triggers off.
  "alter table svc.audit enable always trigger protect_rows",
  "alter table svc.audit enable always trigger protect_table",
  `create function svc.prune_audit(days integer, most integer) returns bigint language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   declare
     deleted bigint;
   begin
     perform set_config('svc.prune_audit', 'on', true);
     delete from svc.audit where id in (
       select id from svc.audit where at < now() - greatest(make_interval(days => days), ${youngest})
       order by at limit most);
     get diagnostics deleted = row_count;
     perform set_config('svc.prune_audit', 'off', true);
     return deleted;
   end $$`,
  "revoke all on function svc.prune_audit(integer, integer) from public"
)
