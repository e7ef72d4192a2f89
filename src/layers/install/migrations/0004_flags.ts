import { statements } from "./statements.ts"

/** Rows are read without validation, so the table must guarantee their shape, regardless of who writes them. */
const configured = (column: string) =>
  `check ((${column}->>'state' in ('ENABLED', 'DISABLED') and json_typeof(${column}->'targeting') = 'object'
     and json_typeof(${column}->'defaultVariant') = 'string') is true)`

/**
 * Feature flags, segments, their history and the time of each flag's last evaluation.
 *
 * `svc.flag_revision` contains the number that every change increments, `svc.flag_environments` the revision of each
 * environment's last change. A flag's configuration in each environment has its own column: they are read separately,
 * and extracting them from one document takes PostgreSQL longer than sending them. Documents are `json`, because `jsonb`
 * would lose the order of variants and the digits of numbers. The history has no foreign key, because it remains when a
 * flag is deleted.
 */
export const flags = statements(
  `create table svc.flag_revision (
     one boolean primary key default true check (one),
     revision bigint not null default 0,
     deleted bigint not null default 0
   )`,
  `comment on column svc.flag_revision.deleted is 'at which revision something was deleted last'`,
  `insert into svc.flag_revision default values`,
  `create table svc.flag_environments (
     name text primary key,
     revision bigint not null default 0
   )`,
  `insert into svc.flag_environments (name) values ('dev'), ('staging'), ('production')`,
  `create table svc.flags (
     key text collate "C" primary key,
     type text not null check (type in ('boolean', 'string', 'number', 'object')),
     description text,
     variants json not null check (json_typeof(variants) = 'object'),
     dev json not null ${configured("dev")},
     staging json not null ${configured("staging")},
     production json not null ${configured("production")},
     uses text[] not null,
     revision bigint not null,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  `comment on column svc.flags.uses is 'keys of the segments that its rules refer to'`,
  `create index flags_revision on svc.flags (revision)`,
  `create index flags_uses on svc.flags using gin (uses)`,
  `create table svc.flag_segments (
     key text collate "C" primary key,
     name text not null default '',
     description text,
     rules json not null check (json_typeof(rules) = 'object'),
     uses text[] not null,
     revision bigint not null,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   )`,
  `create index flag_segments_revision on svc.flag_segments (revision)`,
  `create index flag_segments_uses on svc.flag_segments using gin (uses)`,
  `create table svc.flag_history (
     id bigint generated always as identity primary key,
     kind text not null check (kind in ('flag', 'segment')),
     key text collate "C" not null,
     action text not null,
     environment text,
     actor json not null,
     before json,
     after json,
     revision bigint not null,
     created_at timestamptz not null default now()
   )`,
  `create index flag_history_key on svc.flag_history (kind, key, id desc)`,
  // An evaluation updates a small separate row, often in place, instead of the flag's row.
  `create table svc.flag_usage (
     key text collate "C" not null,
     environment text not null,
     last_evaluated_at timestamptz not null,
     primary key (key, environment)
   ) with (fillfactor = 50)`
)
