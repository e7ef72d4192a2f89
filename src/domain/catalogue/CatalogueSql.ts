import { firstOid } from "./CleanFunctions.ts"
import { cleanSql } from "./CleanSql.ts"
import { ddlWatchedSql } from "./DdlSql.ts"
import { computedRelationshipsSql, keyedSql, keysSql, viewsSql } from "./RelationshipSql.ts"

/** The mark by which the statement is found among those that PostgreSQL counts. */
export const catalogueMark = "/* catalogue of the service */"

/** Stamp of a relation `c`; includes columns and keys, whose changes may leave the relation's own entry unchanged. */
const relationStamp = `pg_catalog.concat_ws(':', c.oid, c.xmin, coalesce((
  select pg_catalog.hashtextextended(pg_catalog.string_agg(a.xmin::text, ',' order by a.attnum), 0) from pg_attribute a
  where a.attrelid = c.oid and a.attnum > 0), 0), coalesce((
  select pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat(k.oid, '.', k.xmin), ',' order by k.oid), 0) from pg_constraint k
  where k.conrelid = c.oid), 0))`

const sumOf = (catalogue: string, where = "true") =>
  `(select pg_catalog.concat(pg_catalog.count(*), ':', pg_catalog.sum(xmin::text::bigint)) from pg_catalog.${catalogue} where oid >= ${firstOid} and ${where})`

/** Stamp of what the definition of a table refers to outside of it: functions, casts and types, without those of rows. */
const surroundings = `pg_catalog.concat_ws(' ', ${sumOf("pg_proc")}, ${sumOf("pg_cast")}, ${sumOf("pg_type", "typtype <> 'c' and typelem = 0")})`

/** Current stamps of the relations and functions of a name ($1 schema, $2 name): cheap enough for each unknown name. */
export const stampsSql = `
select coalesce(pg_catalog.string_agg(stamp, ',' order by stamp), '') from (
  select ${relationStamp} as stamp from pg_class c
    where c.relname = $2 and c.relnamespace = (select oid from pg_namespace where nspname = $1)
      and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  union all
  select pg_catalog.concat(p.oid, ':', p.xmin) from pg_proc p
    where p.proname = $2 and p.pronamespace = (select oid from pg_namespace where nspname = $1)
      and p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
) s`

/** The same, and the surroundings. */
export const tableStampsSql = `select ${surroundings} || '/' || (${stampsSql})`

/**
 * Reads the catalogue of the schemas in `$1` (a text array) as one JSON text. `$2`: what functions with textual bodies name,
 * as a JSON array of `bodyRow`.
 *
 * The `clean_…` columns mark statements on a relation that run no user code, so that they leave nothing in the session
 * for the next caller and no reset is needed after them. CleanSql.ts derives them from the stored expressions: policies,
 * defaults, generated columns, constraints, index expressions, views and functions with SQL-standard bodies, and from `$2`. Anything
 * that is not known to be clean is not clean, which is only slower. What depends on the search path is clean in the first
 * schema, whose search path the clean path has.
 */
export const catalogueSql = `
with ${catalogueMark} exposed as (
  select oid, nspname, nspname = ($1::text[])[1] as first from pg_namespace where nspname = any ($1::text[])
),
-- Names of types that are valid with any search path.
type_names as (
  select t.oid, pg_catalog.format('%I.%I', n.nspname, e.typname) || case when e.oid = t.oid then '' else '[]' end as name
  from pg_type t
    join pg_type e on e.oid = case when t.typcategory = 'A' and t.typlen = -1 and t.typelem <> 0 then t.typelem else t.oid end
    join pg_namespace n on n.oid = e.typnamespace
  where e.typnamespace <> 'pg_catalog'::regnamespace
),
-- The base type behind any chain of domains.
base_types as (
  with recursive look as (
    select oid, oid as base, typtype, typbasetype, typrelid from pg_type
    union all
    select l.oid, t.oid, t.typtype, t.typbasetype, t.typrelid from look l join pg_type t on l.typtype = 'd' and t.oid = l.typbasetype
  )
  select l.oid, l.typtype, l.typrelid, case
      when l.base in ('json'::regtype, 'jsonb'::regtype) then 'json'
      when l.base = 'tsvector'::regtype then 'tsvector'
      when t.typcategory = 'A' then 'array'
      when l.typtype = 'c' then 'composite'
      else 'other'
    end as kind
  from look l join pg_type t on t.oid = l.base where l.typtype <> 'd'
),
-- Implicit casts of domains by a function: their representations (docs/rows.md).
domain_casts as materialized (
  select d.oid, pg_catalog.json_build_object(
      'to_json', pg_catalog.max(f.name) filter (where k.casttarget = 'json'::regtype),
      'from_json', pg_catalog.max(f.name) filter (where k.castsource = 'json'::regtype),
      'from_text', pg_catalog.max(f.name) filter (where k.castsource = 'text'::regtype)) as casts
  from pg_cast k
    join pg_type d on d.typtype = 'd'
      and (d.oid = k.castsource and k.casttarget = 'json'::regtype
           or d.oid = k.casttarget and k.castsource in ('json'::regtype, 'text'::regtype))
    join pg_proc p on p.oid = k.castfunc and p.pronargs - p.pronargdefaults <= 1
    join pg_namespace n on n.oid = p.pronamespace
    cross join lateral (values (pg_catalog.format('%I.%I', n.nspname, p.proname))) f(name)
  where k.castcontext = 'i' and k.castmethod = 'f'
  group by d.oid
),
${cleanSql},
-- Foreign keys by both ends: a write queries the other end as its owner, whose policies apply with FORCE.
key_ends as (
  select k.conrelid as oid, true as holds, k.confrelid as partner, k.confkey as columns, k.conpfeqop || k.conppeqop || k.conffeqop as operators
  from pg_constraint k where k.contype = 'f'
  union all
  select k.confrelid, false, k.conrelid, k.conkey, k.conpfeqop || k.conppeqop || k.conffeqop from pg_constraint k where k.contype = 'f'
),
own_keys as materialized (
  select k.oid, k.holds from key_ends k join pg_class p on p.oid = k.partner
  where p.relkind <> 'r' or p.relforcerowsecurity or ('i', p.oid) in (select kind, oid from not_clean)
    or ('i', p.oid) in (select kind, oid from on_path)
    or ${firstOid} <= any (k.operators)
    or exists (select from pg_attribute a where a.attrelid = p.oid and a.attnum = any (k.columns)
                 and a.atttypid not in (select oid from plain_types))
),
-- Tables that a statement may insert into without user code, and those whose rows it may change.
writable as materialized (
  select c.oid,
    c.oid not in (select k.confrelid from pg_constraint k
                  where k.contype = 'f' and (k.confdeltype not in ('a', 'r') or k.confupdtype not in ('a', 'r')))
      and c.oid not in (select oid from own_keys) as clean_keys
  from pg_class c
  where c.relkind = 'r' and c.relpersistence <> 't' and not c.relhasrules and not c.relispartition
    and not exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
    and ('w', c.oid) not in (select kind, oid from not_clean)
    and c.oid not in (select oid from own_keys where holds)
),
written as (
  select b.oid, pg_catalog.bool_and(c.oid in (select oid from writable where not w.changed or clean_keys)) as clean
  from bodies b
    cross join lateral (select name, false from pg_catalog.unnest(b.inserted) name
                        union all select name, true from pg_catalog.unnest(b.changed) name) w(name, changed)
    join pg_class c on c.relname = w.name and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
  group by b.oid
),
relations as (
  select c.oid, n.nspname, c.relname, ${relationStamp} as stamp,
    case c.relkind when 'r' then 'table' when 'p' then 'partitioned' when 'v' then 'view' when 'm' then 'materialized'
      else 'foreign' end as kind,
    c.reltype,
    c.relkind <> 'v' and not c.relrowsecurity as all_rows,
    not own.some and c.oid in (select oid from readable) and ('r', c.oid) not in (select kind, oid from not_clean)
      and (n.first or ('r', c.oid) not in (select kind, oid from on_path)) as clean_read,
    w.oid is not null and (n.first or ('w', c.oid) not in (select kind, oid from on_path)) as clean_insert,
    coalesce(w.clean_keys, false) as clean_keys
  from pg_class c join exposed n on n.oid = c.relnamespace left join writable w on w.oid = c.oid cross join own
  -- A partition is reached through its table, whose policies its own name would go around.
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't' and not c.relispartition
),
-- Grouped once for all relations: a lookup for each of thousands would take seconds.
columns as (
  select a.attrelid as of, pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.attname, 'type', coalesce(tn.name, pg_catalog.format_type(a.atttypid, a.atttypmod)), 'type_oid', a.atttypid::int8,
      'generated', a.attgenerated <> '' or a.attidentity = 'a', 'domain', t.typtype = 'd', 'casts', dc.casts, 'kind', b.kind)
    order by a.attnum) as columns
  from relations r
    join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    join base_types b on b.oid = t.oid
    left join type_names tn on tn.oid = t.oid
    left join domain_casts dc on dc.oid = t.oid
  group by a.attrelid
),
-- Computed columns: functions of a row that return one value.
computed as (
  select p.proargtypes[0] as of, pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', p.proname, 'schema', n.nspname, 'type', coalesce(tn.name, pg_catalog.format_type(p.prorettype, -1)),
      'type_oid', p.prorettype::int8, 'kind', b.kind) order by n.nspname, p.proname) as columns
  from pg_proc p
    join exposed n on n.oid = p.pronamespace
    join pg_type t on t.oid = p.prorettype and t.typtype <> 'p'
    join base_types b on b.oid = t.oid
    left join type_names tn on tn.oid = t.oid
  where p.prokind = 'f' and p.pronargs = 1 and not p.proretset
    and p.proargtypes[0] in (select reltype from relations)
    and not exists (select from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')
  group by p.proargtypes[0]
),
functions as (
  select p.oid, n.nspname, p.proname, pg_catalog.concat(p.oid, ':', p.xmin) as stamp, p.proretset, p.provolatile = 'v' as volatile,
    (select pg_catalog.json_build_object('schema', rn.nspname, 'name', rc.relname) from pg_class rc join exposed rn on rn.oid = rc.relnamespace
     where rc.oid = bt.typrelid and rc.relkind <> 'c') as returns,
    case when p.pronargs = 1 and coalesce(p.proargnames[1], '') = '' and not coalesce(p.proargmodes && '{o,b,v}'::"char"[], false)
        and p.proargtypes[0] in ('json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'bytea'::regtype, 'xml'::regtype)
      then pg_catalog.format_type(p.proargtypes[0], -1) end as body,
    case
      when p.prorettype = 'void'::regtype then 'void'
      when p.prorettype = 'record'::regtype and p.proallargtypes is null then 'record'
      when p.proargmodes && '{t,b,o}'::"char"[] or t.typtype = 'c' then 'row'
      when bt.typtype = 'c' then 'row'
      else 'scalar'
    end as result,
    not own.some
      and (p.oid in (select oid from callable) and ('f', p.oid) not in (select kind, oid from not_clean)
           or coalesce(b.kind = 'p', false) and p.provolatile = 'v' and ('p', p.oid) not in (select kind, oid from not_clean)
             and coalesce(w.clean, true))
      and (n.first or ('f', p.oid) not in (select kind, oid from on_path) and ('p', p.oid) not in (select kind, oid from on_path))
      and not exists (select from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) a
                       where a not in (select oid from plain_types)) as clean,
    coalesce(b.writes, false) as writes,
    coalesce((
      select pg_catalog.json_agg(coalesce(p.proargnames[u.n], '') order by u.n)
      from pg_catalog.unnest(p.proargmodes) with ordinality u(mode, n) where u.mode in ('t', 'b', 'o')), '[]') as outputs,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_object(
               'name', coalesce(p.proargnames[a.n], ''), 'type', coalesce((select name from type_names where oid = a.type), pg_catalog.format_type(a.type, -1)),
               'optional', a.k > p.pronargs - p.pronargdefaults, 'variadic', a.mode = 'v') order by a.n)
      from (
        select u.n, u.type, coalesce(p.proargmodes[u.n], 'i') as mode,
               pg_catalog.row_number() over (order by u.n) as k
        from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality u(type, n)
        where coalesce(p.proargmodes[u.n], 'i') in ('i', 'b', 'v')
      ) a), '[]') as arguments
  from pg_proc p
    join exposed n on n.oid = p.pronamespace
    join pg_type t on t.oid = p.prorettype
    join base_types bt on bt.oid = t.oid
    left join bodies b on b.oid = p.oid
    left join written w on w.oid = p.oid
    cross join own
  where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
)
select pg_catalog.json_build_object(
  'watched', ${ddlWatchedSql},
  'surroundings', ${surroundings},
  'promised', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', n.nspname, 'name', p.proname, 'signature', p.oid::regprocedure::text) order by n.nspname, p.proname, p.oid)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.oid in (select oid from promised order by oid limit 100)), '[]'),
  'relations', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', r.nspname, 'name', r.relname, 'stamp', r.stamp,
      'kind', r.kind,
      'computed', coalesce(cc.columns, '[]'),
      'all_rows', r.all_rows,
      'clean_read', r.clean_read,
      'clean_insert', r.clean_read and r.clean_insert,
      'clean_change', r.clean_read and r.clean_insert and r.clean_keys,
      'columns', coalesce(a.columns, '[]')
    )) from relations r left join columns a on a.of = r.oid left join computed cc on cc.of = r.reltype), '[]'),
  'functions', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', r.nspname, 'name', r.proname, 'stamp', r.stamp, 'arguments', r.arguments, 'outputs', r.outputs, 'set', r.proretset,
      'result', r.result, 'volatile', r.volatile, 'returns', r.returns, 'body', r.body, 'clean', r.clean, 'writes', r.writes)) from functions r), '[]'),
  'relationships', pg_catalog.json_build_object(
    'keys', (select coalesce(pg_catalog.json_agg(k), '[]') from (${keysSql}) k),
    'keyed', (select coalesce(pg_catalog.json_agg(k), '[]') from (${keyedSql}) k),
    'views', (select coalesce(pg_catalog.json_agg(v), '[]') from (${viewsSql}) v),
    'computed', (select coalesce(pg_catalog.json_agg(c), '[]') from (${computedRelationshipsSql}) c))
)::text`
