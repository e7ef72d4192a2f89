/**
 * Parts of the catalogue query for relationships, which need its WITH part `exposed`. They identify relations by oid,
 * because keys and views may be in schemas that are not exposed.
 */

/** Primary and foreign keys of all tables, except foreign keys that partitions inherit from their parents. */
export const keysSql = `
select k.contype as kind, k.conname as name, k.conrelid::int8 as of, k.conkey as columns,
  nullif(k.confrelid, 0)::int8 as to, k.confkey as to_columns,
  k.contype = 'f' and exists (
    select from pg_constraint u
    where u.conrelid = k.conrelid and u.contype in ('p', 'u') and u.conkey @> k.conkey and u.conkey <@ k.conkey) as one
from pg_constraint k join pg_class c on c.oid = k.conrelid
where k.contype in ('f', 'p') and (k.conparentid = 0 or k.contype = 'p') and c.relpersistence <> 't'
  and c.relnamespace <> 'pg_catalog'::regnamespace`

/** Names and columns of views and of tables with keys, in all schemas. */
export const keyedSql = `
select c.oid::int8 as oid, n.nspname as schema, c.relname as name, pg_catalog.json_object_agg(a.attnum, a.attname) as columns
from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
  and n.nspname not in ('pg_catalog', 'information_schema', 'svc', 'svc_ddl') and n.nspname !~ '^pg_'
  and (c.relkind in ('v', 'm') or c.oid in (
    select conrelid from pg_constraint where contype in ('f', 'p') union all
    select confrelid from pg_constraint where contype = 'f'))
group by c.oid, n.nspname, c.relname`

/** The queries of views, in PostgreSQL's internal format, which ViewColumns.ts parses. */
export const viewsSql = `
select c.oid::int8 as oid, r.ev_action::text as tree
from pg_class c join pg_rewrite r on r.ev_class = c.oid
where c.relkind in ('v', 'm') and r.rulename = '_RETURN' and c.relpersistence <> 't'
  and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`

/** Computed relationships: functions that take a row of a relation and return rows of one. */
export const computedRelationshipsSql = `
select f.nspname as schema, p.proname as name, not p.proretset or p.prorows = 1 as single,
  pg_catalog.json_build_object('schema', fn.nspname, 'name', fc.relname) as "from",
  pg_catalog.json_build_object('schema', tn.nspname, 'name', tc.relname) as "to"
from pg_proc p
  join exposed f on f.oid = p.pronamespace
  join pg_type ft on ft.oid = p.proargtypes[0] and ft.typtype = 'c'
  join pg_class fc on fc.oid = ft.typrelid and fc.relkind <> 'c'
  join exposed fn on fn.oid = fc.relnamespace
  join pg_type tt on tt.oid = p.prorettype and tt.typtype = 'c'
  join pg_class tc on tc.oid = tt.typrelid and tc.relkind <> 'c'
  join exposed tn on tn.oid = tc.relnamespace
where p.prokind = 'f' and p.pronargs = 1 and not coalesce(p.proargmodes && '{t,b,o,v}'::"char"[], false)`
