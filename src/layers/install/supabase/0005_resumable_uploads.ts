import { statements } from "../migrations/statements.ts"

/** Uploads that arrive in pieces. `parts`: the offsets of the pieces in the object store. */
export const resumableUploads = statements(
  `create table svc.supabase_uploads (
     id uuid primary key default gen_random_uuid(),
     bucket text not null,
     name text not null,
     sub text not null,
     content_type text not null,
     cache_control text not null,
     user_metadata text,
     upsert boolean not null,
     length bigint not null check (length >= 0),
     received bigint not null default 0 check (received between 0 and length),
     parts bigint[] not null default '{}',
     expires_at timestamptz not null default now() + interval '24 hours'
   )`,
  "create index on svc.supabase_uploads (expires_at)"
)
