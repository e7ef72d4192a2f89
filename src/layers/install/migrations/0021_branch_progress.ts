import { statements } from "./statements.ts"

/** How far branches are that are being filled, and why those have failed whose creator did not wait. */
export const branchProgress = statements(
  "alter table svc.branches add progress smallint check (progress between 0 and 100)",
  `create table svc.branch_failures (
     branch_id integer primary key,
     reason text not null,
     failed_at timestamptz not null default now()
   )`
)
