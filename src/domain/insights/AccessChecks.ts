import { type CheckSql, finding, severity } from "./FindingSql.ts"

/**
 * Two common table expressions, `reads` and `open_views`: the views of the schemas in `exposed` (oid, nspname) that show rows
 * which the policies of their tables would hide. A row of `open_views` names the view and those tables.
 */
export const openViews = `
-- What views read, through other views too.
reads as (
  with recursive direct as (
    select w.ev_class as view, d.refobjid as oid from pg_rewrite w
      join pg_class v on v.oid = w.ev_class and v.relkind in ('v', 'm')
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_class'::regclass and d.refobjid <> w.ev_class
  ), reached as (
    select view, oid from direct
    union select r.view, d.oid from reached r join direct d on d.view = r.oid
  )
  select view, oid from reached
),
-- Views that callers may read, and that run with the rights of an owner whom the policies of a table do not bind.
open_views as (
  select n.nspname, v.relname, v.relkind, pg_catalog.format('%I.%I', n.nspname, v.relname) as named,
    pg_catalog.string_agg(distinct pg_catalog.format('%I.%I', tn.nspname, t.relname), ', ') as tables
  from pg_class v
    join exposed n on n.oid = v.relnamespace
    join pg_roles o on o.oid = v.relowner
    join reads r on r.view = v.oid
    join pg_class t on t.oid = r.oid and t.relrowsecurity
    join pg_namespace tn on tn.oid = t.relnamespace
  where v.relkind in ('v', 'm') and not coalesce(v.reloptions::text ~ 'security_invoker=(true|on|1|yes)', false)
    and (v.relkind = 'm' or o.rolsuper or o.rolbypassrls
         or not t.relforcerowsecurity and pg_catalog.pg_has_role(v.relowner, t.relowner, 'USAGE'))
    and exists (select from pg_roles c where c.rolname in ('anon', 'authenticated')
                  and pg_catalog.has_any_column_privilege(c.oid, v.oid, 'SELECT'))
  group by n.nspname, v.relname, v.relkind
)`

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
