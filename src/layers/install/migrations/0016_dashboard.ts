import { statements } from "./statements.ts"

/** Browsers that are signed in to the dashboard, and links by which one can sign in once. Only SHA-256 of the tokens. */
export const dashboard = statements(
  `create table svc.dashboard_sessions (
     token_hash text primary key check (token_hash ~ '^[0-9a-f]{64}$'),
     key_id integer not null references svc.api_keys (id) on delete cascade,
     created_at timestamptz not null default now(),
     last_seen_at timestamptz not null default now(),
     expires_at timestamptz not null
   )`,
  "create index on svc.dashboard_sessions (key_id)",
  `create table svc.dashboard_links (
     token_hash text primary key check (token_hash ~ '^[0-9a-f]{64}$'),
     key_id integer not null references svc.api_keys (id) on delete cascade,
     expires_at timestamptz not null
   )`
)
