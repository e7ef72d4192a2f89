import { statements } from "./statements.ts"

/**
 * Changes that never reached the feed and the webhooks, because the replication slot was lost: those committed after
 * `after_lsn` (at `after_at`) and before `until_lsn`, of these tables. Not announced: the slot has not been made again, and the feed has had no gap yet.
 */
export const changeGaps = statements(
  `create table svc.change_gaps (
     id integer generated always as identity primary key,
     slot text not null,
     reason text not null,
     after_lsn pg_lsn,
     after_at timestamptz,
     until_lsn pg_lsn not null,
     until_at timestamptz not null default now(),
     tables text[] not null,
     announced boolean not null default false
   )`
)
