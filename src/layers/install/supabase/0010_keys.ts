import { statements } from "../migrations/statements.ts"

/** Second factors that are security keys. A factor has its key once that was verified, and goes with it. */
export const keys = statements(
  `alter table svc.supabase_factors
     add column kind text not null default 'totp',
     add column key_id text unique references svc.identity_keys on delete cascade,
     alter column secret drop not null`
)
