import { statements } from "./statements.ts"

/**
 * Clients to notify that a session has ended (OpenID Connect Back-Channel Logout 1.0). A row is deleted when its
 * client has accepted the notice, or after the last attempt. `sids` of a session: what each client knows it by.
 */
export const oauth2LogoutNotices = statements(
  "alter table svc.oauth2_items add column sids jsonb",
  `create table svc.oauth2_logout_notices (
     id bigint generated always as identity primary key,
     client_id text not null references svc.oauth2_clients on delete cascade,
     subject text not null,
     sid text not null,
     attempts int not null default 0,
     due_at timestamptz not null default now()
   )`,
  "create index on svc.oauth2_logout_notices (due_at)",
  "create index on svc.oauth2_logout_notices (client_id)"
)
