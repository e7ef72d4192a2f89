import { statements } from "./statements.ts"

/** Settings of the installation, API keys, and notifications of changes to keys and of DDL. */
export const keys = statements(
  `create table svc.settings (
     name text primary key,
     value text not null
   )`,
  `create table svc.api_keys (
     id integer generated always as identity primary key,
     key_type text not null check (key_type in ('anon', 'service_role')),
     key_prefix text not null,
     key_hash text not null unique,
     label text not null default '' check (char_length(label) <= 100),
     rate_limit integer check (rate_limit >= 1),
     created_at timestamptz not null default now(),
     last_used_at timestamptz,
     revoked_at timestamptz
   )`,
  `create function svc.notify_keys() returns trigger language plpgsql set search_path = pg_catalog as $$
   begin
     perform pg_notify('svc_keys', coalesce(new.id, old.id)::text);
     return null;
   end $$`,
  `create trigger notify_keys after insert or delete or update of label, rate_limit, revoked_at on svc.api_keys
     for each row execute function svc.notify_keys()`,
  `create function svc.notify_ddl() returns event_trigger language plpgsql set search_path = pg_catalog as $$
   begin
     perform pg_notify('svc_ddl', tg_tag);
   end $$`
)
