import { statements } from "./statements.ts"

/** Functions of the service's users: versions, whose bundles are objects, secrets of their environment, and what they print. */
export const functions = statements(
  `create table svc.functions (
     name text primary key,
     version integer not null,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  `create table svc.function_versions (
     name text not null,
     version integer not null,
     digest text not null,
     size integer not null,
     entrypoint text not null,
     verify_jwt boolean,
     created_by text not null,
     created_at timestamptz not null default now(),
     primary key (name, version)
   )`,
  `create table svc.function_secrets (
     name text primary key,
     sealed_value text not null,
     updated_at timestamptz not null default now()
   )`,
  `create table svc.function_logs (
     id bigint generated always as identity primary key,
     name text not null,
     version integer not null,
     at timestamptz not null,
     level text not null,
     request_id text not null,
     text text not null
   )`,
  `create index function_logs_by_name on svc.function_logs (name, id desc)`
)
