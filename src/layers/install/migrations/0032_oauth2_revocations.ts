import { statements } from "./statements.ts"

/** Accounts that were taken back, whose grants at another OAuth 2.0 server are to end. Deleted accounts are among them. */
export const oauth2Revocations = statements(
  `create table svc.oauth2_revocations (
     subject text primary key,
     due_at timestamptz not null default now(),
     attempts int not null default 0
   )`,
  "create index oauth2_revocations_due on svc.oauth2_revocations (due_at)"
)
