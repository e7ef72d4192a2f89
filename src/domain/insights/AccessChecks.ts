import { openViews } from "./OpenViewsSql.ts"
import { type CheckSql, finding, severity } from "./FindingSql.ts"

/** Checks of what callers of `/v1/db` may read past row-level security. */
export const accessChecks: ReadonlyArray<CheckSql> = [
  {
    kind: "table_without_row_security",
    exposed: true,
    sql: `
      select ${finding({
        severity: `case when c.writable then 'critical' else 'warning' end`,
        type: "case c.relkind when 'f' then 'foreign table' else 'table' end",
        schema: "c.nspname",
        name: "c.relname",
        explanation: `format('Every anon key may read %s %I.%I, because %s.',
          case when c.writable then 'and change all rows of' else 'all rows of' end, c.nspname, c.relname,
          case c.relkind when 'f' then 'foreign tables have no row-level security'
            else 'row-level security is off; once it is on, anon and authenticated see only what policies allow' end)`,
        fix: `case c.relkind when 'f' then format('revoke all on %I.%I from anon, authenticated;', c.nspname, c.relname)
          else format('alter table %I.%I enable row level security;', c.nspname, c.relname) end`
      })}
      from (
        select n.nspname, c.relname, c.relkind, has_table_privilege(r.oid, c.oid, 'insert, update, delete')
            or has_any_column_privilege(r.oid, c.oid, 'insert, update') as writable
        from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_roles r on r.rolname = 'anon'
        where n.nspname = any ($1::text[]) and c.relkind in ('r', 'p', 'f') and not c.relrowsecurity and not c.relispartition
          and has_schema_privilege(r.oid, n.oid, 'usage') and has_any_column_privilege(r.oid, c.oid, 'select')
      ) c order by c.writable desc, c.nspname, c.relname`
  },
  {
    kind: "view_without_security_invoker",
    exposed: true,
    sql: `
      with exposed as (select oid, nspname::text from pg_namespace where nspname = any ($1::text[])),
      ${openViews}
      select ${finding({
        severity: severity(["true", "critical"]),
        type: "case relkind when 'v' then 'view' else 'materialized view' end",
        schema: "nspname",
        name: "relname",
        explanation: `format('%s shows rows of %s to callers without the policies of row-level security, because it %s.', named, tables,
          case relkind when 'v' then 'reads them with the rights of its owner' else 'keeps a copy of them' end)`,
        fix: `case relkind when 'v' then format('alter view %s set (security_invoker);', named)
          else format('revoke select on %s from anon, authenticated;', named) end`
      })}
      from open_views order by nspname, relname`
  }
]
