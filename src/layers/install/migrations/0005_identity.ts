import { statements } from "./statements.ts"

/**
 * Claims of tokens; the origins of authorization requests, to restart one whose challenge has expired; and the secret
 * with which all replicas sign values that browsers carry between them.
 */
export const identity = statements(
  `create table svc.oauth2_claims (
     one boolean primary key default true check (one),
     id_token_claims json not null default '{}',
     access_token_claims json not null default '{}'
   )`,
  `insert into svc.oauth2_claims default values`,
  `create table svc.oauth2_requests (
     challenge_hash text primary key,
     request_url text not null,
     created_at timestamptz not null default now()
   )`,
  `create index oauth2_requests_oldest on svc.oauth2_requests (created_at)`,
  `create table svc.identity_secret (
     one boolean primary key default true check (one),
     secret text not null default gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text
   )`,
  `insert into svc.identity_secret default values`
)
