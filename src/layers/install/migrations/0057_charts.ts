import { statements } from "./statements.ts"

/**
 * What was counted in each minute, ten minutes and hour, over all replicas, which add theirs. `latencies` are counts of
 * durations, by the bounds of domain/requests/Latencies.ts.
 */
export const charts = statements(
  `create table svc.chart_points (
     step int not null,
     at timestamptz not null,
     requests int8 not null default 0,
     refused int8 not null default 0,
     errors int8 not null default 0,
     latencies int8[] not null default '{}',
     sampled boolean not null default false,
     connections int,
     active int,
     slow int,
     database_bytes int8,
     primary key (step, at)
   )`
)
