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
