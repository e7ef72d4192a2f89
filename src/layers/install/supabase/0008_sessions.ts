import { statements } from "../migrations/statements.ts"

/**
 * The tables of Supabase's sign-in API, in addition to the accounts. Refresh tokens, mailed tokens and authorization
 * codes are stored as hashes; mailed codes as signatures, because they have few digits.
 */
export const sessions = statements(
  `create table svc.supabase_sessions (
     id uuid primary key references svc.identity_sessions on delete cascade,
     amr jsonb not null
   )`,
  `create table svc.supabase_refresh_tokens (
     hash text primary key,
     session_id uuid not null references svc.supabase_sessions on delete cascade,
     created_at timestamptz not null default now(),
     used_at timestamptz
   )`,
  "create index on svc.supabase_refresh_tokens (session_id)",
  `create table svc.supabase_mails (
     id uuid primary key default gen_random_uuid(),
     kind text not null,
     lookup text not null,
     identity_id uuid references svc.identities on delete cascade,
     token_hash text not null unique,
     code text not null,
     data jsonb not null default '{}',
     tries int not null default 0,
     created_at timestamptz not null default now(),
     expires_at timestamptz not null,
     used_at timestamptz,
     unique (kind, lookup)
   )`,
  "create index on svc.supabase_mails (identity_id)",
  "create index on svc.supabase_mails (expires_at)",
  `create table svc.supabase_codes (
     hash text primary key,
     identity_id uuid references svc.identities on delete cascade,
     data jsonb not null,
     expires_at timestamptz not null
   )`,
  "create index on svc.supabase_codes (identity_id)",
  "create index on svc.supabase_codes (expires_at)",
  `create table svc.supabase_factors (
     id uuid primary key,
     identity_id uuid not null references svc.identities on delete cascade,
     friendly_name text,
     secret text not null,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  "create index on svc.supabase_factors (identity_id)"
)
