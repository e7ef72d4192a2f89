import { statements } from "./statements.ts"

/**
 * The embedded OAuth 2.0 server. Of whatever serves as a token, code, challenge or cookie only a SHA-256 is stored, as id
 * or verifier.
 */
export const oauth2 = statements(
  `create table svc.oauth2_clients (
     id text primary key,
     fields text not null,
     secret_hash text,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  // Sessions, interactions, codes, tokens and grants. As text, because jsonb can't hold a NUL that a browser sends.
  `create table svc.oauth2_items (
     kind text not null,
     id text not null,
     payload text not null,
     grant_id text,
     uid text,
     account_id text,
     created_at timestamptz not null default now(),
     expires_at timestamptz not null,
     consumed_at timestamptz,
     primary key (kind, id)
   )`,
  `create index on svc.oauth2_items (grant_id) where grant_id is not null`,
  `create index on svc.oauth2_items (uid) where uid is not null`,
  `create index on svc.oauth2_items (account_id) where account_id is not null`,
  `create index on svc.oauth2_items (expires_at)`,
  // The users' grants. `listed` is false for requests that were granted without asking the user.
  `create table svc.oauth2_consents (
     grant_id text primary key,
     subject text not null,
     client_id text not null references svc.oauth2_clients on delete cascade,
     requested_scope text[] not null,
     grant_scope text[] not null,
     audience text[] not null,
     id_token_claims text not null,
     access_token_claims text not null,
     remember boolean not null,
     remember_until timestamptz,
     listed boolean not null,
     handled_at timestamptz not null default clock_timestamp()
   )`,
  `create index on svc.oauth2_consents (subject, client_id, handled_at)`,
  `create index on svc.oauth2_consents (client_id)`,
  `create index on svc.oauth2_consents (handled_at)`,
  // Kept longer than their interactions, to distinguish expired challenges from unknown ones and to start again.
  `create table svc.oauth2_challenges (
     id text primary key,
     kind text not null,
     request_url text not null,
     expires_at timestamptz not null,
     used_at timestamptz
   )`,
  `create index on svc.oauth2_challenges (expires_at)`,
  // Answers to challenges: valid with the verifier that only the answer's redirect contains, in the browser that began.
  `create table svc.oauth2_answers (
     verifier text primary key,
     challenge text not null,
     result text not null,
     resource text[],
     session_lost boolean not null,
     expires_at timestamptz not null
   )`,
  `create index on svc.oauth2_answers (expires_at)`,
  `create table svc.oauth2_logouts (
     id text primary key,
     verifier text unique,
     session_uid text not null,
     subject text not null,
     client_id text,
     return_to text not null,
     expires_at timestamptz not null,
     done_at timestamptz
   )`,
  `create index on svc.oauth2_logouts (expires_at)`
)
