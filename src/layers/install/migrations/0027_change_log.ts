import { statements } from "./statements.ts"

/**
 * Changes from the write-ahead log (services/changes). `change_log` has the position up to which changes were handled:
 * `lsn` is that of a transaction's commit, `done` the number of its changes. It is written together with what was
 * handled. `change_tables` are the tables that are published instead of having triggers, with the replica identity that
 * they had before, and its index.
 */
export const changeLog = statements(
  `create table svc.change_log (
     slot text primary key,
     lsn pg_lsn not null,
     done bigint not null,
     updated_at timestamptz not null default now()
   )`,
  `create table svc.change_tables (
     table_oid oid primary key,
     identity "char" not null,
     identity_index text
   )`
)
