import { Effect } from "effect"
import { statements } from "../migrations/statements.ts"
import { missingTable } from "./missing.ts"

const helper = (signature: string, returns: string, body: string) =>
  `do $do$ begin
     if to_regprocedure('storage.${signature.replaceAll(/\w+ (\w+(?:\[\])?)/g, "$1")}') is null then
       create function storage.${signature} returns ${returns} immutable parallel safe return ${body};
     end if;
   end $do$`

/** Policies are the rights: without one, only service_role has any. */
const byPolicies = (table: string) => [
  `alter table ${table} enable row level security`,
  `grant all on ${table} to anon, authenticated, service_role`
]

/** Buckets and objects, to which policies are attached, and the functions that policies call on names. */
export const files = Effect.all(
  [
    statements("grant usage on schema storage to anon, authenticated, service_role"),
    missingTable(
      "storage.buckets",
      `create table storage.buckets (
     id text primary key,
     name text not null unique,
     owner uuid,
     created_at timestamptz default now(),
     updated_at timestamptz default now(),
     public boolean default false,
     avif_autodetection boolean default false,
     file_size_limit bigint,
     allowed_mime_types text[],
     owner_id text
   )`,
      ...byPolicies("storage.buckets")
    ),
    missingTable(
      "storage.objects",
      `create table storage.objects (
     id uuid primary key default gen_random_uuid(),
     bucket_id text references storage.buckets (id),
     name text,
     owner uuid,
     created_at timestamptz default now(),
     updated_at timestamptz default now(),
     last_accessed_at timestamptz default now(),
     metadata jsonb,
     path_tokens text[] generated always as (string_to_array(name, '/')) stored,
     version text,
     owner_id text,
     user_metadata jsonb
   )`,
      "create unique index bucketid_objname on storage.objects (bucket_id, name)",
      ...byPolicies("storage.objects")
    ),
    statements(
      helper(
        "foldername(name text)",
        "text[]",
        "(string_to_array(name, '/'))[1:array_length(string_to_array(name, '/'), 1) - 1]"
      ),
      helper(
        "filename(name text)",
        "text",
        "(string_to_array(name, '/'))[array_length(string_to_array(name, '/'), 1)]"
      ),
      helper("extension(name text)", "text", "reverse(split_part(reverse(split_part(name, '/', -1)), '.', 1))")
    )
  ],
  { discard: true }
)
