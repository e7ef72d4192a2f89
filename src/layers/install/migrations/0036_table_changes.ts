import { statements } from "./statements.ts"

/**
 * Counts of the rows that were written, once a minute for tables that have changed, so that a preview of a recovery knows
 * what has changed since its time. `table_counts` has PostgreSQL's counters as they were last seen, `table_changes` what
 * was added to them in between, and `table_count_runs` which database they are of.
 */
export const tableChanges = statements(
  `create table svc.table_count_runs (
     only_one boolean primary key default true check (only_one),
     database text not null,
     began_at timestamptz not null,
     counted_at timestamptz not null
   )`,
  `create table svc.table_counts (
     table_oid oid primary key,
     schema_name text not null,
     table_name text not null,
     inserted bigint not null,
     updated bigint not null,
     deleted bigint not null,
     live bigint not null,
     filenode oid not null
   )`,
  `create table svc.table_changes (
     until timestamptz not null,
     since timestamptz not null,
     table_oid oid not null,
     schema_name text not null,
     table_name text not null,
     inserted bigint not null,
     updated bigint not null,
     deleted bigint not null,
     event text check (event in ('created', 'dropped', 'rewritten')),
     live bigint,
     lost boolean not null default false,
     primary key (until, table_oid)
   )`,
  "comment on column svc.table_changes.live is 'of an event, about how many rows the table had before'",
  "comment on column svc.table_changes.lost is 'whether the counters had been reset meanwhile, such as by a crash'"
)
