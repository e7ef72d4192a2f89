import { type CheckSql, finding, notOfExtension, ofUsers, severity } from "./FindingSql.ts"

/** Rows below which VACUUM makes no difference. */
const manyRows = 10_000

const vacuum = "format('vacuum (analyze) %I.%I;', t.schemaname, t.relname)"

/** The greatest value that a sequence and its column can have. */
const limit = `least(s.seqmax, case a.atttypid when 'int2'::regtype then 32767 when 'int4'::regtype then 2147483647 else s.seqmax end)`

export const upkeepChecks: ReadonlyArray<CheckSql> = [
  {
    kind: "sequence_near_end",
    sql: `
      select ${finding({
        severity: severity(["last_value >= 0.9 * limit_value", "critical"], ["true", "warning"]),
        type: "'sequence'",
        schema: "nspname",
        name: "relname",
        table: "table_name",
        explanation: `format('%s%% of its values are used: after %s, inserts fail.%s', floor(100 * last_value / limit_value), limit_value,
          case when fix is null then '' else ' The fix rewrites and locks the table; columns that refer to it need the same type.' end)`,
        fix: "fix",
        details: { last_value: "last_value::text", limit: "limit_value::text" }
      })}
      from (
        select n.nspname, c.relname, t.relname as table_name, ${limit}::numeric as limit_value,
          case when has_sequence_privilege(c.oid, 'select, usage') then pg_sequence_last_value(c.oid) end::numeric as last_value,
          case when a.atttypid in ('int2'::regtype, 'int4'::regtype) then
              format('alter table %I.%I alter column %I type bigint;', tn.nspname, t.relname, a.attname)
                || case when a.attidentity = '' then format(E'\\nalter sequence %I.%I as bigint;', n.nspname, c.relname) else '' end
            when s.seqtypid <> 'int8'::regtype and a.attidentity is distinct from 'a' and a.attidentity is distinct from 'd'
              then format('alter sequence %I.%I as bigint;', n.nspname, c.relname)
          end as fix
        from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
          left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refclassid = 'pg_class'::regclass
            and d.refobjsubid > 0 and d.deptype in ('a', 'i')
          left join pg_class t on t.oid = d.refobjid
          left join pg_namespace tn on tn.oid = t.relnamespace
          left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        where s.seqincrement > 0 and not s.seqcycle and ${ofUsers} and ${notOfExtension("c.oid")}
      ) s where last_value >= 0.75 * limit_value order by last_value / limit_value desc, nspname, relname`
  },
  {
    kind: "dead_rows",
    sql: `
      select ${finding({
        severity: severity(["t.n_dead_tup > t.n_live_tup", "warning"]),
        type: "'table'",
        schema: "t.schemaname",
        name: "t.relname",
        explanation: `format('%s of its rows are dead beside %s live ones: reads pass over them, and their space is not used again. If VACUUM does not remove them, a long transaction or an abandoned replication slot holds them.', t.n_dead_tup, t.n_live_tup)`,
        fix: vacuum,
        details: {
          dead_rows: "t.n_dead_tup",
          live_rows: "t.n_live_tup",
          last_vacuum: "greatest(t.last_vacuum, t.last_autovacuum)"
        }
      })}
      from pg_stat_user_tables t join pg_namespace n on n.nspname = t.schemaname
      where t.n_dead_tup >= ${manyRows} and t.n_dead_tup > 0.2 * (t.n_live_tup + t.n_dead_tup) and ${ofUsers} and ${notOfExtension("t.relid")}
      order by t.n_dead_tup desc, t.schemaname, t.relname`
  },
  {
    kind: "never_vacuumed",
    sql: `
      select ${finding({
        severity: severity(["coalesce(t.last_analyze, t.last_autoanalyze) is null", "warning"]),
        type: "'table'",
        schema: "t.schemaname",
        name: "t.relname",
        explanation: `format('It has about %s rows and has never been vacuumed%s; autovacuum is off or does not get to it.', t.n_live_tup,
          case when coalesce(t.last_analyze, t.last_autoanalyze) is null then ' or analyzed: the planner guesses' else '' end)`,
        fix: vacuum,
        details: { live_rows: "t.n_live_tup" }
      })}
      from pg_stat_user_tables t join pg_namespace n on n.nspname = t.schemaname
      where t.n_live_tup + t.n_dead_tup >= ${manyRows} and coalesce(t.last_vacuum, t.last_autovacuum) is null
        and ${ofUsers} and ${notOfExtension("t.relid")}
      order by t.n_live_tup desc, t.schemaname, t.relname`
  }
]
