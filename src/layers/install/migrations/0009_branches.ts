import { statements } from "./statements.ts"

/**
 * Branches. A row is inserted before its database is created and deleted after the database is dropped, so that every
 * branch database has a row. `creating` is valid only while a replica holds the branches' advisory lock; otherwise the
 * creation was interrupted.
 */
export const branches = statements(
  `create table svc.branches (
     id integer generated always as identity primary key,
     label text not null check (char_length(label) between 1 and 60),
     database_name text not null unique,
     password text not null,
     status text not null default 'creating' check (status in ('creating', 'active', 'dropping')),
     size_bytes bigint not null default 0,
     ttl_hours integer not null check (ttl_hours between 0 and 8760),
     created_at timestamptz not null default now(),
     expires_at timestamptz
   )`,
  `comment on column svc.branches.password is 'of the two logins that the service comes into the branch with'`,
  `create function svc.notify_branches() returns trigger language plpgsql set search_path = pg_catalog as $$
   begin
     perform pg_notify('svc_branches', coalesce(new.id, old.id)::text);
     return null;
   end $$`,
  `create trigger notify_branches after insert or delete or update of status, expires_at on svc.branches
     for each row execute function svc.notify_branches()`
)
