import { statements } from "./statements.ts"

/**
 * What people keep in the dashboard: queries, views of tables, boards of charts, and the statements that they have run.
 * An owner is an identity, or a service key. Documents are `json`, because `jsonb` can't store every string of JSON.
 */
export const workspace = statements(
  `create table svc.workspace_items (
     id int generated always as identity primary key,
     kind text not null,
     owner_type text not null,
     owner_id text collate "C" not null,
     owner_label text not null,
     name text not null check (char_length(name) <= 80),
     table_schema text,
     table_name text,
     content json not null,
     shared boolean not null default false,
     revision int not null default 1,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  `create unique index workspace_items_name on svc.workspace_items
     (owner_type, owner_id, kind, coalesce(table_schema, ''), coalesce(table_name, ''), name)`,
  "create index workspace_items_shared on svc.workspace_items (kind) where shared",
  `create table svc.workspace_statements (
     id bigint generated always as identity primary key,
     owner_type text not null,
     owner_id text collate "C" not null,
     digest bytea not null,
     sql text not null,
     "values" json,
     branch text,
     at timestamptz not null default now(),
     milliseconds float8,
     rows int8,
     code text
   )`,
  "create unique index workspace_statements_once on svc.workspace_statements (owner_type, owner_id, digest)",
  "create index workspace_statements_at on svc.workspace_statements (at)"
)
