import { statements } from "./statements.ts"

/**
 * The accounts of the embedded identity provider, and the keys that sign this service's tokens. Tokens, codes and
 * passwords are stored as hashes; secrets that must be read again are sealed (services/identity/Seals.ts). Tables of
 * users may reference svc.identities.
 */
export const accounts = statements(
  `create table svc.signing_keys (
     kid text primary key,
     jwk text not null,
     created_at timestamptz not null default now(),
     retired_at timestamptz
   )`,
  `create table svc.identities (
     id uuid primary key default gen_random_uuid(),
     state text not null default 'active' check (state in ('active', 'inactive')),
     schema_id text not null default 'default',
     traits jsonb not null default '{}',
     metadata_public jsonb not null default '{}',
     password_hash text,
     password_changed_at timestamptz,
     totp_secret text,
     totp_last_step bigint not null default 0,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  // The look-up form is the same for all spellings of an address that people take for one (domain/identity/Address.ts).
  `create table svc.identity_addresses (
     lookup text primary key,
     identity_id uuid not null references svc.identities on delete cascade,
     value text not null,
     verified_at timestamptz
   )`,
  `create index identity_addresses_identity on svc.identity_addresses (identity_id)`,
  `create table svc.identity_keys (
     id text primary key,
     identity_id uuid not null references svc.identities on delete cascade,
     passkey boolean not null,
     public_key bytea not null,
     counter bigint not null,
     transports text[] not null default '{}',
     display_name text not null,
     backed_up boolean not null,
     added_at timestamptz not null default now(),
     last_used_at timestamptz
   )`,
  `create index identity_keys_identity on svc.identity_keys (identity_id)`,
  `create table svc.identity_recovery_codes (
     identity_id uuid not null references svc.identities on delete cascade,
     hash text not null,
     used_at timestamptz,
     primary key (identity_id, hash)
   )`,
  `create table svc.identity_sessions (
     id uuid primary key default gen_random_uuid(),
     identity_id uuid not null references svc.identities on delete cascade,
     kind text not null check (kind in ('Token', 'Cookie')),
     token_hash text not null unique,
     aal text not null default 'aal1' check (aal in ('aal1', 'aal2')),
     methods text[] not null,
     guesses int not null default 0,
     authenticated_at timestamptz not null default now(),
     issued_at timestamptz not null default now(),
     expires_at timestamptz not null,
     ip text,
     user_agent text
   )`,
  `create index identity_sessions_identity on svc.identity_sessions (identity_id)`,
  `create index identity_sessions_end on svc.identity_sessions (expires_at)`,
  `create table svc.identity_flows (
     id uuid primary key default gen_random_uuid(),
     kind text not null,
     identity_id uuid references svc.identities on delete cascade,
     data jsonb not null default '{}',
     tries int not null default 0,
     expires_at timestamptz not null,
     used_at timestamptz
   )`,
  `create index identity_flows_end on svc.identity_flows (expires_at)`,
  `create index identity_flows_identity on svc.identity_flows (identity_id)`,
  `create table svc.identity_guesses (
     key text primary key,
     count int not null,
     until timestamptz not null,
     expires_at timestamptz not null
   )`,
  `create index identity_guesses_end on svc.identity_guesses (expires_at)`,
  `create table svc.mails (
     id bigint generated always as identity primary key,
     recipient text not null,
     subject text not null,
     body text,
     created_at timestamptz not null default now(),
     due_at timestamptz not null default now(),
     sent_at timestamptz,
     attempts int not null default 0,
     failure text
   )`,
  `create index mails_due on svc.mails (due_at) where sent_at is null`
)
