import { computedRelationshipsSql, keyedSql, keysSql, viewsSql } from "../catalogue/RelationshipSql.ts"

/** A checksum of the user-defined rows of a system catalogue, which changes with any of them. */
const rowsOf = (catalogue: string, where = "oid >= 16384") =>
  `(select pg_catalog.concat(pg_catalog.count(*), ':', pg_catalog.sum(pg_catalog.hashtextextended(xmin::text || ctid::text, 0))) from ${catalogue} where ${where})`

/** The roles whose privileges the current role has: all of a superuser's, whose privileges depend on none of them. */
const rolesSql = `(select case when rolsuper then 'all' else
  (select pg_catalog.string_agg(r.oid::text, ',' order by r.oid) from pg_roles r where pg_catalog.pg_has_role(r.oid, 'USAGE'))
  end from pg_roles where rolname = current_user)`

const stampSql = `pg_catalog.concat_ws(' ',
  ${rolesSql}, ${rowsOf("pg_namespace", "true")}, ${rowsOf("pg_class")},
  ${rowsOf("pg_attribute", "attrelid >= 16384 and attnum > 0")}, ${rowsOf("pg_attrdef")}, ${rowsOf("pg_constraint")},
  ${rowsOf("pg_type")}, ${rowsOf("pg_enum")}, ${rowsOf("pg_proc")}, ${rowsOf("pg_cast")}, ${rowsOf("pg_rewrite")},
  ${rowsOf("pg_trigger")}, ${rowsOf("pg_description", "objoid >= 16384 or classoid = 'pg_namespace'::regclass")})`

/** Types that to_json turns into arrays, including vectors. */
const isArray = "t.typsubscript = 'array_subscript_handler'::regproc and t.typelem <> 0 and t.typtype <> 'd'"

/**
 * The contents of the schemas in `$1` (a text array): all if `$2`, else only what the current role has privileges for.
 * Returns one row: a stamp, which changes with the contents, GRANT and REVOKE included, and a `SchemaOutline` as JSON
 * text, or null if the stamp equals `$3`.
 */
export const schemaOutlineSql = `
with exposed as (
  select n.oid, n.nspname, pg_catalog.obj_description(n.oid, 'pg_namespace') as comment from pg_namespace n
  where n.nspname = any ($1::text[]) and ($2::boolean or pg_catalog.has_schema_privilege(n.oid, 'USAGE'))
),
-- Foreign tables of a wrapper without a handler, and views on them: pg_relation_is_updatable fails for these.
unanswered as (
  with recursive seen as (
    select f.ftrelid as oid from pg_foreign_table f
      join pg_foreign_server s on s.oid = f.ftserver
      join pg_foreign_data_wrapper w on w.oid = s.srvfdw where w.fdwhandler = 0
    union
    select r.ev_class from seen s
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = s.oid and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid
  )
  select oid from seen
),
relations as materialized (
  select c.oid, n.nspname, c.relname, c.reltype,
    case c.relkind when 'r' then 'table' when 'p' then 'partitioned' when 'v' then 'view' when 'm' then 'materialized'
      else 'foreign' end as kind,
    case when c.relkind in ('r', 'p') then 28 when c.relkind = 'm' or c.oid in (select oid from unanswered) then 0
      else pg_catalog.pg_relation_is_updatable(c.oid, true) end as writable
  from pg_class c join exposed n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
    and not c.relispartition
    and ($2::boolean or pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE') or pg_catalog.has_table_privilege(c.oid, 'DELETE'))
),
columns as materialized (
  select r.oid as of, a.attnum, a.attname, a.atttypid as type,
    pg_catalog.format_type(a.atttypid, a.atttypmod) as sql,
    case when a.atttypid in ('varchar'::regtype, 'bpchar'::regtype) and a.atttypmod > 4 then a.atttypmod - 4 end as length,
    a.attnotnull or t.typtype = 'd' and t.typnotnull as not_null,
    case when a.attgenerated = '' then coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), t.typdefault) end as default,
    case when a.attgenerated <> '' or a.attidentity = 'a' then 'always' when a.attidentity = 'd' then 'default' end as generated,
    r.kind <> 'view' or r.writable & 12 <> 0 and pg_catalog.pg_column_is_updatable(r.oid, a.attnum, true) as writable,
    o.description as comment,
    pg_catalog.has_column_privilege(r.oid, a.attnum, 'SELECT') as select,
    pg_catalog.has_column_privilege(r.oid, a.attnum, 'INSERT') as insert,
    pg_catalog.has_column_privilege(r.oid, a.attnum, 'UPDATE') as update
  from relations r
    join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
    left join pg_description o on o.objoid = r.oid and o.classoid = 'pg_class'::regclass and o.objsubid = a.attnum
),
-- Grouped once for all relations: a lookup for each of thousands would take seconds.
column_lists as (
  select of, pg_catalog.json_agg(pg_catalog.json_build_object('name', attname, 'type', type::int8, 'sql', sql, 'length', length,
      'not_null', not_null, 'default', "default", 'generated', generated, 'writable', writable, 'comment', comment,
      'select', "select", 'insert', "insert", 'update', "update") order by attnum) as list
  from columns where $2::boolean or "select" or "insert" or "update" group by of
),
functions as materialized (
  select p.oid, n.nspname, p.proname, p.prorettype, p.proretset, p.provolatile, p.prorows,
    p.pronargs, p.pronargdefaults, p.proargnames, p.proargmodes, coalesce(p.proallargtypes, p.proargtypes::oid[]) as types
  from pg_proc p join exposed n on n.oid = p.pronamespace
  where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
    and ($2::boolean or pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))
),
parts as (
  select r.oid, u.n, u.type, coalesce(r.proargnames[u.n], '') as name, coalesce(r.proargmodes[u.n], 'i') as mode,
    pg_catalog.row_number() over (partition by r.oid, coalesce(r.proargmodes[u.n], 'i') in ('i', 'b', 'v') order by u.n)
      > r.pronargs - r.pronargdefaults as optional
  from functions r cross join pg_catalog.unnest(r.types) with ordinality u(type, n)
),
part_lists as (
  select oid,
    pg_catalog.json_agg(pg_catalog.json_build_object('name', name, 'type', type::int8, 'optional', optional, 'variadic', mode = 'v') order by n)
      filter (where mode in ('i', 'b', 'v')) as arguments,
    pg_catalog.json_agg(pg_catalog.json_build_object('name', name, 'type', type::int8) order by n) filter (where mode in ('t', 'b', 'o')) as outputs
  from parts group by oid
),
types as (
  with recursive reached as (
    select oid from (
      select type from columns where $2::boolean or "select" or "insert" or "update"
      union select type from parts
      union select prorettype from functions
      union select t.oid from pg_type t left join pg_class k on k.oid = t.typrelid
        where $2::boolean and t.typnamespace in (select oid from exposed) and (t.typtype = 'e' or k.relkind = 'c')) used(oid)
    union
    select x.oid from reached r join pg_type t on t.oid = r.oid cross join lateral (
      select t.typelem where ${isArray}
      union all select t.typbasetype where t.typtype = 'd'
      union all select a.atttypid from pg_attribute a join pg_class k on k.oid = a.attrelid and k.relkind = 'c'
        where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) x(oid)
  )
  select t.oid, n.nspname, t.typname, pg_catalog.format_type(t.oid, null) as sql, pg_catalog.has_schema_privilege(n.oid, 'USAGE') as usable,
    case
      when t.oid = 'bool'::regtype then 'boolean'
      when t.oid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype, 'numeric'::regtype)
        then 'number'
      when t.oid in ('json'::regtype, 'jsonb'::regtype) then 'json'
      when t.oid = 'void'::regtype then 'void'
      when ${isArray} then 'array'
      -- What its cast makes of a domain is known only to its author.
      when t.typtype = 'd' then case when exists (select from pg_cast c where c.castsource = t.oid and c.casttarget = 'json'::regtype
        and c.castmethod = 'f' and c.castcontext = 'i') then 'json' else 'domain' end
      when t.typtype = 'c' then case when k.relkind = 'c' then 'composite' else 'row' end
      when t.typtype = 'p' then 'pseudo'
      -- As in to_json: user-defined types may have a cast to json.
      when t.oid >= 16384 and exists (select from pg_cast c where c.castsource = t.oid and c.casttarget = 'json'::regtype
        and c.castmethod = 'f') then 'json'
      when t.typtype = 'e' then 'enum'
      else 'string'
    end as kind,
    case when ${isArray} then t.typelem when t.typtype = 'd' then t.typbasetype end as of,
    case when t.typtype = 'e' then (select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
      end as values,
    case when k.relkind = 'c' then (
      select pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname, 'type', a.atttypid::int8) order by a.attnum)
      from pg_attribute a where a.attrelid = k.oid and a.attnum > 0 and not a.attisdropped) end as attributes,
    case when k.relkind <> 'c' then pg_catalog.json_build_object('schema', n.nspname, 'name', k.relname) end as relation
  from reached r join pg_type t on t.oid = r.oid
    join pg_namespace n on n.oid = t.typnamespace
    left join pg_class k on k.oid = t.typrelid
),
stamp as materialized (select ${stampSql} as now)
select stamp.now, case when stamp.now is distinct from $3 then pg_catalog.json_build_object(
  'schemas', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', nspname, 'comment', comment)
      order by nspname collate "C"), '[]') from exposed),
  'relations', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', r.nspname, 'name', r.relname, 'kind', r.kind, 'comment', pg_catalog.obj_description(r.oid, 'pg_class'),
      'writable', r.writable, 'delete', pg_catalog.has_table_privilege(r.oid, 'DELETE'), 'columns', coalesce(l.list, '[]'))
      order by r.nspname collate "C", r.relname collate "C"), '[]')
    from relations r left join column_lists l on l.of = r.oid),
  'functions', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', r.nspname, 'name', r.proname, 'comment', pg_catalog.obj_description(r.oid, 'pg_proc'),
      'arguments', coalesce(l.arguments, '[]'), 'outputs', coalesce(l.outputs, '[]'), 'returns', r.prorettype::int8,
      'set', r.proretset, 'single', not r.proretset or r.prorows = 1, 'volatile', r.provolatile = 'v')
      order by r.nspname collate "C", r.proname collate "C", pg_catalog.pg_get_function_identity_arguments(r.oid) collate "C"), '[]')
    from functions r left join part_lists l on l.oid = r.oid),
  'types', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', t.oid::int8, 'schema', t.nspname, 'name', t.typname, 'sql', t.sql, 'usable', t.usable, 'kind', t.kind, 'of', t.of::int8,
      'values', t.values, 'attributes', t.attributes, 'relation', t.relation)
      order by t.nspname collate "C", t.typname collate "C"), '[]') from types t),
  'relationships', pg_catalog.json_build_object(
    'keys', (select coalesce(pg_catalog.json_agg(k), '[]') from (${keysSql}) k),
    'keyed', (select coalesce(pg_catalog.json_agg(k), '[]') from (${keyedSql}) k),
    'views', (select coalesce(pg_catalog.json_agg(v), '[]') from (${viewsSql}) v),
    'computed', (select coalesce(pg_catalog.json_agg(c), '[]') from (${computedRelationshipsSql}) c))
)::text end
from stamp`
