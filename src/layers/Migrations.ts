import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** One statement a query: sql-pg has no other way. */
const statements = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const text of texts) yield* sql.unsafe(text)
  })

/**
 * Our own tables, in schema `svc`. Numbers only grow; a migration that has been released is never edited, because
 * databases that ran it will not run it again.
 */
export const migrations = {
  "0001_keys": statements(
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
}
