import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"

export interface Running {
  readonly pid: number
  readonly user: string | null
  readonly state: string
  readonly seconds: number
  readonly waits: string | null
  /** Sessions whose locks it waits for. */
  readonly blocked_by: ReadonlyArray<number>
  readonly query: string
}

interface DatabaseState {
  readonly name: string
  readonly size: number
  readonly most: number
  readonly connections: ReadonlyArray<{ readonly state: string; readonly count: number }>
  readonly running: ReadonlyArray<Running>
}

export interface TableSize {
  readonly schema: string
  readonly name: string
  readonly bytes: number
  readonly rows: number
}

/** Statements are listed from this age, in seconds, and blocked ones at once. */
export const slow = 1

/** Takes no lock of a table: it is read above all while something is locked. */
const text = `select
  current_database() as name,
  pg_database_size(current_database()) as size,
  current_setting('max_connections')::int as most,
  (select coalesce(json_agg(x order by x.count desc), '[]') from (
     select coalesce(state, 'other') as state, count(*)::int as count from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' group by 1) x) as connections,
  (select coalesce(json_agg(x order by x.seconds desc), '[]') from (
     select pid, usename as user, state, extract(epoch from clock_timestamp() - query_start)::float8 as seconds,
       wait_event_type || ': ' || wait_event as waits, to_json(pg_blocking_pids(pid)) as blocked_by, left(query, 300) as query
     from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
       and state <> 'idle' and query_start is not null
       and (clock_timestamp() - query_start > interval '${slow} second' or cardinality(pg_blocking_pids(pid)) > 0)
     limit 50) x) as running`

/** Measuring a table waits for its lock: those that are locked now are left out, and the rest may take 3 s. */
const sizes = `select n.nspname as schema, c.relname as name, pg_total_relation_size(c.oid) as bytes, c.reltuples::bigint as rows
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'svc', 'svc_ddl')
    and n.nspname not like 'pg_toast%'
    and not exists (select from pg_locks l where l.relation = c.oid and l.mode = 'AccessExclusiveLock')
  order by 3 desc limit 10`

export const useDatabase = () =>
  useQuery({
    queryKey: ["status", "activity"],
    queryFn: async ({ signal }) => {
      const { rows } = await call("POST /v1/sql", { payload: { sql: text, read_only: true }, signal })
      return rows[0] as unknown as DatabaseState
    },
    refetchInterval: 5000,
    retry: false
  })

export const useSizes = () =>
  useQuery({
    queryKey: ["status", "tables"],
    queryFn: async ({ signal }) => {
      const { rows } = await call("POST /v1/sql", { payload: { sql: sizes, read_only: true, timeout: 3000 }, signal })
      return rows as unknown as ReadonlyArray<TableSize>
    },
    refetchInterval: 30_000,
    retry: false
  })
