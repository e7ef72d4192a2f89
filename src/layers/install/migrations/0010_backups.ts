import { statements } from "./statements.ts"

/**
 * Backups and restores. `in_progress` is valid only while a replica holds the advisory lock of the backup's id; otherwise
 * the backup was interrupted. A branch that is `restoring` is being filled.
 */
export const backups = statements(
  `create table svc.backups (
     id integer generated always as identity primary key,
     label text not null check (char_length(label) between 1 and 60),
     status text not null default 'in_progress' check (status in ('in_progress', 'completed', 'failed')),
     size_bytes bigint not null default 0,
     progress integer not null default 0 check (progress between 0 and 100),
     created_at timestamptz not null default now(),
     completed_at timestamptz,
     error text,
     cancelled boolean not null default false,
     strategy text,
     tool_version text,
     server_version text,
     format text check (format in ('custom', 'plain')),
     file_name text unique,
     globals text,
     scheduled_for timestamptz unique,
     copy_to text,
     bucket text,
     object_key text,
     copy_error text
   )`,
  `comment on column svc.backups.copy_to is 'bucket that is to have a copy; null once it has, or never will'`,
  `create table svc.restores (
     id integer generated always as identity primary key,
     backup_id integer not null references svc.backups on delete cascade,
     branch_id integer references svc.branches on delete set null,
     status text not null default 'in_progress' check (status in ('in_progress', 'completed', 'failed')),
     progress integer not null default 0 check (progress between 0 and 100),
     error text,
     started_at timestamptz not null default now(),
     finished_at timestamptz
   )`,
  "create index on svc.restores (backup_id)",
  "create index on svc.restores (branch_id)",
  `create table svc.removed_backups (
     file_name text primary key,
     removed_at timestamptz not null default now()
   )`,
  `comment on table svc.removed_backups is 'files that were not found where their backup was deleted'`,
  "alter table svc.branches add source_backup_id integer",
  "alter table svc.branches drop constraint branches_status_check",
  `alter table svc.branches add constraint branches_status_check
     check (status in ('creating', 'restoring', 'active', 'dropping'))`
)
