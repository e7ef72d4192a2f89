import { statements } from "./statements.ts"

/** Adds the restores that prove that the archive of the write-ahead log can be restored. */
export const recoveryDrills = statements(
  `create table svc.recovery_drills (
     id bigint generated always as identity primary key,
     started_at timestamptz not null default now(),
     finished_at timestamptz,
     target_time timestamptz not null,
     status text not null default 'running' check (status in ('running', 'passed', 'failed')),
     error text,
     tables integer,
     rows bigint
   )`
)
